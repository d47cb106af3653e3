"""Open pull requests on a results repository: what each would change."""

from __future__ import annotations

from dataclasses import dataclass

from benchmark_spec.errors import HubError
from fslbench_data.hub.address import HubAddress
from fslbench_data.hub.calls import api, hub_errors
from fslbench_data.leaderboard.hub_files import HubResults
from fslbench_data.leaderboard.repository import SUBMISSIONS


@dataclass(frozen=True)
class Changes:
    """What a pull request changes, by path: submissions are added or changed, or removed."""

    main: HubResults
    proposed: HubResults
    submissions: tuple[str, ...]
    removed: tuple[str, ...]
    other: tuple[str, ...]


def changes_of(repo_id: str, number: int) -> Changes:
    """Compare a pull request with the commit of ``main`` that it started from."""
    main = HubResults.open(HubAddress(repo_id))
    proposed = HubResults.open(HubAddress(repo_id, f"refs/pr/{number}"))
    with hub_errors("reading its history", repo_id):
        client = api()
        history = [
            {
                commit.commit_id: None
                for commit in client.list_repo_commits(
                    repo_id, repo_type="dataset", revision=revision
                )
            }
            for revision in (proposed.commit, main.commit)
        ]
    start = next((commit for commit in history[0] if commit in history[1]), None)
    if start is None:
        raise HubError(f"pull request {number} has no commit in common with main", where=repo_id)
    base = main if start == main.commit else HubResults.open(HubAddress(repo_id, start))
    before, after = base.tree, proposed.tree
    changed = [
        path
        for path in sorted({*before, *after})
        if path not in before or path not in after or before[path].oid != after[path].oid
    ]
    ours = [path for path in changed if path.startswith(f"{SUBMISSIONS}/")]
    return Changes(
        main,
        proposed,
        submissions=tuple(path for path in ours if path in after),
        removed=tuple(path for path in ours if path not in after),
        other=tuple(path for path in changed if path not in ours),
    )
