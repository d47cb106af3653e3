"""Proposing results: pull requests on a results repository, and on a model's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis_sql.interval_kinds import BESIDE
from benchmark_spec.errors import (
    HubNotFoundError,
    MissingPackageError,
    SubmissionError,
    UnboundError,
    UnknownNameError,
    listing,
)
from benchmark_spec.naming import benchmark_task_id
from fslbench_data.files import sha256_of
from fslbench_data.files.scratch import scratch_folder
from fslbench_data.hub.address import HubAddress
from fslbench_data.hub.calls import api, hub_errors, transferred
from fslbench_data.hub.download import fetch
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
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import Score
from fslbench_data.submission.model import Submission
from fslbench_data.validation.validate import Validated, validate

PATH = ".eval_results/fslbench.yaml"


def entries(report: Report, method: str, source_url: str) -> list[dict[str, Any]]:
    """Make one entry a task set with a headline metric: a method's mean accuracy, in percent.

    The entry's notes give the interval's kind and half-width, the level and T.  `source_url` says
    where the per-task results are.  Raises a SubmissionError if the release is not on the Hub, or
    the method has no score with an interval.
    """
    try:
        from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
    except ImportError:
        raise MissingPackageError(
            "this huggingface_hub does not know evaluation results",
            fix="pip install --upgrade huggingface_hub",
        ) from None

    repo_id, _, commit = report.signature.hub.partition("@")
    if not repo_id:
        raise SubmissionError(
            f"release {report.signature.release} is not on the Hub, so that a model's results "
            "cannot name it",
            fix="leave --model out, or answer a release that is there",
        )
    results = [
        EvalResultEntry(
            dataset_id=repo_id,
            task_id=benchmark_task_id(set_report.scored.dataset, set_report.scored.task_set),
            value=round(score.accuracy.mean, 4),
            dataset_revision=commit,
            source_url=source_url,
            source_name="per-task results",
            notes=_notes(score),
        )
        for set_report in report.sets
        if set_report.interval_kind == "open"
        for score in set_report.scores
        if score.method == method and _has_interval(score)
    ]
    if not results:
        raise SubmissionError(
            f"{method} has no accuracy with an interval on a task set that reuses no image",
            expected="all tasks of an open set, or as many as were fixed beforehand, two or more",
            fix="leave --model out",
        )
    return eval_result_entries_to_yaml(results)


def merged(repo_id: str, new: list[dict[str, Any]]) -> bytes:
    """Add entries to the model's file; entries of other task sets or benchmarks are kept.

    Returns the file, or nothing if it has all entries already, wherever their per-task results are.
    Raises a SubmissionError if the model's file is not a list of results.
    """
    import yaml

    def task_of(entry: dict[str, Any]) -> tuple[str, str]:
        return str(entry["dataset"]["id"]), str(entry["dataset"].get("task_id", ""))

    def result_of(entry: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in entry.items() if key != "source"}

    kept: list[dict[str, Any]] = []
    try:
        text = fetch(repo_id, PATH, "main", repo_type="model").read_bytes()
    except HubNotFoundError:
        text = b""
        with hub_errors("looking at the model", repo_id):
            api().model_info(repo_id)  # so that only the file may be missing
    try:
        present = yaml.safe_load(text) or []
        if all(result_of(entry) in map(result_of, present) for entry in new):
            return b""
        about = {task_of(entry) for entry in new}
        kept = [entry for entry in present if task_of(entry) not in about]
    except (yaml.YAMLError, TypeError, KeyError, AttributeError, RecursionError):
        raise SubmissionError(
            f"{PATH} of {repo_id} is not a list of results",
            expected="entries with dataset: {id, task_id}",
            fix="mend it on the model's page first",
        ) from None
    return yaml.safe_dump([*kept, *new], sort_keys=False, allow_unicode=True).encode()


def _has_interval(score: Score) -> bool:
    return score.accuracy.halfwidth is not None and score.ordinary


def _notes(score: Score) -> str:
    """Kind, half-width, level and T of the interval, and of other kinds that there are."""
    level = f"{100 * score.accuracy.level:.8g} %"
    text = f"open interval (new images of these classes) ± {score.accuracy.halfwidth:.2f}"
    for kind, beside in BESIDE.items():
        interval = score.intervals.get(kind)
        if interval is not None and interval.halfwidth is not None:
            text += f", {kind} interval ({beside.about}) ± {interval.halfwidth:.2f}"
    marks = ", transductive" if score.transductive else ""
    return f"percent correct; {text}, level {level}, T = {score.accuracy.tasks} tasks{marks}"


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
    def url(self) -> str:
        """Where the file is once it is accepted."""
        from huggingface_hub import hf_hub_url

        return hf_hub_url(self.repo_id, self.path, repo_type="dataset")

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
    """Open the pull request, or find the one that this account has open; return its address."""
    methods = escaped(listing(proposal.answers.methods))
    sets = {str(group.info) for group in proposal.answers.groups}
    return pull_request(
        proposal.repo_id,
        "dataset",
        {proposal.path: proposal.content},
        proposal.title,
        f"{methods} on {len(sets)} task set{'s' if len(sets) > 1 else ''} of {proposal.release}"
        f"#{proposal.release.manifest.digest[:12]}. Checked by `fslbench submit`.",
    )


def open_proposal(repo_id: str, repo_type: str, title: str, paths: Iterable[str]) -> str:
    """Find this account's open pull request of a title with these files; return its address."""
    with hub_errors("looking for an open pull request", repo_id):
        client = api()
        own_name = client.whoami()["name"]
        for proposal in client.get_repo_discussions(
            repo_id,
            repo_type=repo_type,
            discussion_type="pull_request",
            discussion_status="open",
        ):
            revision = f"refs/pr/{proposal.num}"
            if (proposal.title, proposal.author) == (title, own_name) and all(
                client.file_exists(repo_id, path, repo_type=repo_type, revision=revision)
                for path in paths
            ):
                return str(proposal.url)
    return ""


def pull_request(
    repo_id: str, repo_type: str, files: Mapping[str, bytes], title: str, description: str
) -> str:
    """Propose files in one commit, unless this account has an open pull request of that title.

    Returns its address; empty if the repository holds these very files already.
    """
    from huggingface_hub import CommitOperationAdd

    address = open_proposal(repo_id, repo_type, title, files)
    if address:
        return address
    commit = transferred(
        "opening a pull request",
        repo_id,
        lambda: api().create_commit(
            repo_id,
            [CommitOperationAdd(path, content) for path, content in files.items()],
            commit_message=title,
            commit_description=description,
            repo_type=repo_type,
            create_pr=True,
        ),
    )
    return commit.pr_url or ""


def only_method(answers: Validated, method: str | None) -> str:
    """Return the method of a submission that is meant: the one that is named, or the only one."""
    if method is not None and method not in answers.methods:
        raise UnknownNameError("method", method, answers.methods, where=answers.submission.source)
    if method is None and len(answers.methods) > 1:
        raise SubmissionError(
            f"the submission has results of {len(answers.methods)} methods",
            expected="one, which is the model's",
            fix=f"name it with --method: {listing(answers.methods)}",
        )
    return method or answers.methods[0]
