"""A page as a static Space of the Hub: the report, or a leaderboard."""

from __future__ import annotations

from pathlib import Path

from benchmark_spec.errors import HubError, HubNotFoundError
from fslbench_data.hub.calls import api, hub_errors, transferred
from fslbench_data.render.page import INDEX

TAG = "fslbench-report"
"""Marks the Spaces that are such pages."""

_CARD = f"""---
title: FSLBench @COMMAND@
sdk: static
app_file: {INDEX}
pinned: false
tags:
- {TAG}
---

What few-shot results do and do not show: a page made by `fslbench @COMMAND@`.
"""


def push_space(page: Path, repo_id: str, command: str = "report") -> str:
    """Publish a page as a static Space, in one commit; gives the Space's address.

    The Space is made if it is not there.  One that is there is only written over if it is such a
    page.
    """
    from huggingface_hub import CommitOperationAdd

    client = api()
    there = _card_of(repo_id)
    if there is not None and TAG not in there:
        raise HubError(
            f"the Space {repo_id} is there already, and is no page of results",
            expected=f"a new name, or a Space with the tag {TAG}",
            fix="choose another name",
        )
    with hub_errors("making the Space", repo_id):
        client.create_repo(repo_id, repo_type="space", space_sdk="static", exist_ok=True)
    operations = [
        CommitOperationAdd(INDEX, page),
        CommitOperationAdd("README.md", _CARD.replace("@COMMAND@", command).encode()),
    ]
    found = transferred(
        "publishing the page",
        repo_id,
        lambda: client.create_commit(
            repo_id, operations, commit_message=f"Page of fslbench {command}", repo_type="space"
        ),
    )
    return str(found.repo_url)


def _card_of(repo_id: str) -> str | None:
    """The README of a Space; None where there is no Space, empty where it has none."""
    client = api()
    try:
        with hub_errors("looking at the Space", repo_id):
            names = client.list_repo_files(repo_id, repo_type="space")
    except HubNotFoundError:
        return None
    if "README.md" not in names:
        return ""
    with hub_errors("reading the Space's README", repo_id):
        path = client.hf_hub_download(repo_id, "README.md", repo_type="space")
    return Path(path).read_text(encoding="utf-8")
