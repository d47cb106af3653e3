"""Proposing results: pull requests on a results repository."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmark_spec.errors import (
    UnboundError,
    listing,
)
from fslbench_data.files import sha256_of
from fslbench_data.files.scratch import scratch_folder
from fslbench_data.hub.address import HubAddress
from fslbench_data.hub.calls import api, hub_errors, transferred
from fslbench_data.leaderboard.acceptance import answered
from fslbench_data.leaderboard.repository import (
    HubResults,
    open_releases,
    read_board,
    submission_name,
)
from fslbench_data.release.release import Release
from fslbench_data.render.escaping import escaped, neutral
from fslbench_data.sandbox.client import read_untrusted
from fslbench_data.submission.model import Submission
from fslbench_data.validation.validate import Validated, validate


@dataclass(frozen=True)
class Proposal:
    """A submission as it goes into a results repository, which may hold it already (`accepted`).

    The path and content are those of the Parquet file, which is named after its SHA-256.
    """

    repo_id: str
    path: str
    content: bytes
    release: Release
    answers: Validated
    accepted: bool

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the content."""
        return Path(self.path).stem

    @property
    def title(self) -> str:
        """Title of the pull request, by which it is found again."""
        return f"Results of {neutral(listing(self.answers.methods, 3))} ({self.digest[:12]})"


def prepare(submission: Submission, to: str) -> Proposal:
    """Check a submission as the results repository `to` will, and give it its name there.

    Raises a SubmissionError if the release that it answers does not accept it; if it answers none,
    why the newest does not.
    """
    address = HubAddress.parse(to)
    files = HubResults.open(address)
    releases = open_releases(read_board(files).releases)
    release = releases[answered(submission, releases)]
    try:
        answers = validate(submission, release)
    except UnboundError as error:
        raise error.saying(
            fix="add the column (fslbench info lists the fingerprints): a results repository takes "
            "no results on anybody's word"
        ) from None
    with scratch_folder("submit") as folder:
        file = folder / "submission.parquet"
        submission.write(file)
        read_untrusted(file)  # as the repository's own checks do
        path, content = submission_name(sha256_of(file)), file.read_bytes()
    return Proposal(address.repo_id, path, content, release, answers, path in files.names())


def propose(proposal: Proposal) -> str:
    """Open the pull request, unless this account has it open already; return its address."""
    from huggingface_hub import CommitOperationAdd

    address = open_proposal(proposal)
    if address:
        return address
    methods = escaped(listing(proposal.answers.methods))
    sets = {str(group.info) for group in proposal.answers.groups}
    commit = transferred(
        "opening a pull request",
        proposal.repo_id,
        lambda: api().create_commit(
            proposal.repo_id,
            [CommitOperationAdd(proposal.path, proposal.content)],
            commit_message=proposal.title,
            commit_description=f"{methods} on {len(sets)} task set{'s' if len(sets) > 1 else ''} "
            f"of {proposal.release}#{proposal.release.manifest.digest[:12]}. Checked by "
            "`fslbench submit`.",
            repo_type="dataset",
            create_pr=True,
        ),
    )
    return commit.pr_url or ""


def open_proposal(proposal: Proposal) -> str:
    """Find this account's open pull request of a proposal; return its address, or nothing."""
    with hub_errors("looking for an open pull request", proposal.repo_id):
        client = api()
        own_name = client.whoami()["name"]
        for found in client.get_repo_discussions(
            proposal.repo_id,
            repo_type="dataset",
            discussion_type="pull_request",
            discussion_status="open",
        ):
            if (found.title, found.author) == (proposal.title, own_name) and client.file_exists(
                proposal.repo_id,
                proposal.path,
                repo_type="dataset",
                revision=f"refs/pr/{found.num}",
            ):
                return str(found.url)
    return ""
