"""Propose a submission to a results repository, and review proposals as a Markdown comment.

Proposals are not trusted: their files are read as every submission is, the settings are those of
the repository before the proposal, and the comment neutralizes their texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path

from msgspec import Struct

from analysis_sql.comparisons import Comparison
from analysis_sql.interval_kinds import ADDITIONAL_KINDS, ESTIMANDS
from benchmark_spec.errors import UnboundError, listing, many
from benchmark_spec.naming import one_line
from benchmark_spec.protocol import IntervalKind
from fslbench_data.files import scratch_folder, sha256_of
from fslbench_data.hub import HubAddress, api, hub_errors, open_pull_requests, transferred
from fslbench_data.leaderboard.leaderboard import (
    Accepted,
    Board,
    Rejected,
    answered,
    boards_of,
    check_all,
    unfetched,
)
from fslbench_data.leaderboard.repository import (
    HubResults,
    LooseFiles,
    ResultsFiles,
    list_submissions,
    read_board,
    submission_name,
)
from fslbench_data.leaderboard.standing import Row, Standing
from fslbench_data.leaderboard.tables import (
    accuracy,
    behind,
    claim_text,
    label,
    legend,
    marks,
)
from fslbench_data.release.release import Release, load_release
from fslbench_data.render.interval_text import by_queries_text, difference_text, labels, percent
from fslbench_data.render.table import Column, Table, comment, markdown, right
from fslbench_data.render.templating import escaped, neutral, neutral_table
from fslbench_data.sandbox.client import read_untrusted
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import score
from fslbench_data.scoring.selection import reference_results
from fslbench_data.submission.model import Submission
from fslbench_data.validation.validate import Validated, validate


class Proposal(Struct, frozen=True):
    """A submission that is proposed to a results repository.

    `path` and `content` are those of the Parquet file, which is named after its SHA-256; `accepted`
    says whether the repository holds it already.
    """

    repo_id: str
    path: str
    content: bytes
    release: Release
    results: Validated
    accepted: bool

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the content."""
        return Path(self.path).stem

    @property
    def title(self) -> str:
        """Title of the pull request, by which it is found again."""
        return f"Results of {neutral(listing(self.results.methods, 3))} ({self.digest[:12]})"


def prepare(submission: Submission, to: str) -> Proposal:
    """Check a submission as the results repository `to` will, and give it its name there.

    Raises a SubmissionError if it is not valid for the release that it answers, or the newest if it
    answers none.
    """
    address = HubAddress.parse(to)
    files = HubResults.open(address)
    releases = tuple(map(load_release, read_board(files).releases))
    release = releases[answered(submission, releases)]
    try:
        results = validate(submission, release)
    except UnboundError as error:
        raise error.with_advice(
            fix="add the column (fslbench info lists the fingerprints): a results repository takes "
            "no results on anybody's word"
        ) from None
    with scratch_folder("submit") as folder:
        file = folder / "submission.parquet"
        submission.write(file)
        read_untrusted(file)  # as the repository's checks do
        path, content = submission_name(sha256_of(file)), file.read_bytes()
    return Proposal(address.repo_id, path, content, release, results, path in files.names())


def propose(proposal: Proposal) -> str:
    """Open the pull request, unless this account has it open already; return its address."""
    from huggingface_hub import CommitOperationAdd

    client = api()
    with hub_errors("looking for an open pull request", proposal.repo_id):
        account = client.whoami()["name"]
        for request in open_pull_requests(proposal.repo_id, proposal.title):
            if request.author == account and client.file_exists(
                proposal.repo_id,
                proposal.path,
                repo_type="dataset",
                revision=f"refs/pr/{request.num}",
            ):
                return str(request.url)
    methods = escaped(listing(proposal.results.methods))
    sets = {str(group.info) for group in proposal.results.groups}
    commit = transferred(
        "opening a pull request",
        proposal.repo_id,
        lambda: client.create_commit(
            proposal.repo_id,
            [CommitOperationAdd(proposal.path, proposal.content)],
            commit_message=proposal.title,
            commit_description=f"{methods} on {many(len(sets), 'task set')} "
            f"of {proposal.release}#{proposal.release.manifest.digest[:12]}. Checked by "
            "`fslbench submit`.",
            repo_type="dataset",
            create_pr=True,
        ),
    )
    return commit.pr_url or ""


MOST_SCORED = 10
"""Files of a proposal that are compared with the reference methods in detail."""
MOST_CHARACTERS = 60_000
"""Characters of a comment; hosts refuse more than 65,536."""
_MOST_REFUSED, _MOST_ROWS, _MOST_NAMED = 30, 60, 10
_CUT = "_The rest is left out here; `fslbench review` says it all in parts._"


class Review(Struct, frozen=True):
    """The accepted and rejected files of a proposal, and the tables with them.

    `boards` have the task sets that the proposal answers.  `reports` compare the first accepted
    files with the reference methods; None without such methods.  `unfetched` says how many of the
    repository's own submissions are pointers of Git LFS.
    """

    boards: tuple[Board, ...]
    accepted: tuple[Accepted, ...]
    reports: tuple[Report | None, ...]
    rejected: tuple[Rejected, ...]
    unfetched: str


def review(
    proposed: ResultsFiles | LooseFiles,
    names: Sequence[str],
    base: ResultsFiles,
    releases: Sequence[Release] | None = None,
    *,
    level: float = 0.95,
) -> Review:
    """Check the files of a proposal, and rank their methods.

    Parameters
    ----------
    proposed, names
        The repository as proposed, and the paths of its new or changed files.
    base
        The repository before the proposal: its settings hold, also its releases by default.
    """
    releases = tuple(map(load_release, read_board(base).releases)) if releases is None else releases
    new = dict.fromkeys(names)
    submissions, _ = list_submissions(base)
    old = [name for name in submissions if name not in new]
    sources = [*((base, name) for name in old), *((proposed, name) for name in new)]
    accepted, rejected = check_all(sources, releases, lambda _: None, base.arrivals(submissions))
    ours = tuple(file for file in accepted if file.name in new)
    answered = {(file.release, entry.info.text) for file in ours for entry in file.results}
    boards = boards_of(
        accepted, releases, lambda position, info: (position, info.text) in answered, level=level
    )
    new_names = {one_line(name) for name in new}
    return Review(
        boards=tuple(board for board in boards if board.sets),
        accepted=ours,
        reports=tuple(
            _report(proposed, file, releases[file.release], level) for file in ours[:MOST_SCORED]
        ),
        rejected=tuple(file for file in rejected if file.name in new_names),
        unfetched=unfetched([file for file in rejected if file.name not in new_names], len(old)),
    )


def _report(
    files: ResultsFiles | LooseFiles, file: Accepted, release: Release, level: float
) -> Report | None:
    """Compare a file's methods with the reference methods; None without any."""
    answered = {entry.info.text: entry.info for entry in file.results}
    references = reference_results(release, answered.values())
    groups = () if references is None else references.groups
    against = [*dict.fromkeys(group.method for group in groups if group.info.text in answered)]
    if not against:
        return None
    submission = read_untrusted(files.path(file.name))
    return score(submission, release, against=against, level=level, only_compared=True)


def review_text(review: Review) -> str:
    """Write the comment; if it is too long, a note replaces its end."""
    text = ""
    for part in _parts(review):
        if len(text) + len(part) > MOST_CHARACTERS:
            return f"{text}{_CUT}\n"
        text += f"{part}\n\n"
    return text.rstrip() + "\n"


def _parts(review: Review) -> Iterator[str]:
    """Yield paragraphs and tables, the most important first."""
    rejected = review.rejected
    signature = " + ".join(str(board) for board in review.boards)
    if signature:
        yield comment(signature)
    if review.unfetched:
        yield f"**{review.unfetched} The ranks below leave them out.**"
    if total := sum(len(file.digests) for file in review.accepted) + len(rejected):
        judged = f"{len(rejected)} refused" if rejected else "every rule is met"
        yield f"**{many(total, 'file')}: {judged}.**"
    else:
        yield "No submission is added."
    yield from map(_rejection, rejected[:_MOST_REFUSED])
    yield from _more(rejected, _MOST_REFUSED, "refused")
    for file, report in zip_longest(review.accepted, review.reports):
        yield from _accepted(file, review.boards, report)
    yield from legend(review.boards)
    if any(report is not None for report in review.reports):
        yield _verdicts_legend(review.reports)


def _more(items: Sequence[object], most: int, what: str) -> Iterator[str]:
    """Yield how many items there are after the first ones, if any."""
    if len(items) > most:
        yield f"… and {len(items) - most} more {what}."


def _rejection(file: Rejected) -> str:
    texts = {"where": file.where, "expected": file.expected, "fix": file.fix}
    lines = [f"  - {name}: {escaped(text)}" for name, text in texts.items() if text]
    return "\n".join([f"- Refused: {escaped(file.name)}: {escaped(file.what)}", *lines])


def _accepted(file: Accepted, boards: tuple[Board, ...], report: Report | None) -> Iterator[str]:
    """Yield the ranks of one file's methods, and their comparisons with the references."""
    board = next(board for board in boards if file.digest in board.submissions)
    rows = [
        (standing, row)
        for standing in board.sets
        for row in standing.rows
        if file.digest in row.entry.sources
    ]
    sets = list({str(standing.scored): standing for standing, _ in rows}.values())
    methods = list(dict.fromkeys(row.method for _, row in rows))
    names = listing([escaped(name) for name in methods], _MOST_NAMED)
    digests = listing([digest[:12] for digest in file.digests], _MOST_NAMED)
    yield f"### {digests}: {names}"
    yield f"Answers `{board.release}`, {many(len(sets), 'task set')} of it."
    yield markdown([neutral_table(_standing_table(rows[:_MOST_ROWS]))], "").rstrip()
    yield from _more(rows, _MOST_ROWS, "lines")
    yield from (escaped(text) for pair in rows[:_MOST_ROWS] if (text := _lead_text(*pair)))
    if report is not None:
        yield "Against the reference methods:"
        yield markdown([neutral_table(_comparisons_table(report))], "").rstrip()
        yield from _more(report.comparisons, _MOST_ROWS, "lines")
        known = [*dict.fromkeys(score.method for score in report.scores if score.by_queries)]
        total = len({score.method for score in report.scores})
        if text := by_queries_text(known, total, _MOST_NAMED):
            yield escaped(f"{text}; the table before takes tasks as a whole, as leaderboards do.")


def _comparisons_table(report: Report) -> Table:
    """Return the first comparisons, one per line."""
    names = labels(report.scores)
    comparisons = report.comparisons[:_MOST_ROWS]
    by_reason: dict[str, dict[str, None]] = {}
    for comparison in comparisons:
        if comparison.reason:
            by_reason.setdefault(comparison.reason, {})[comparison.method] = None

    def verdict(kind: IntervalKind, c: Comparison) -> str | None:
        return c.intervals[kind].verdict if kind in c.intervals else None

    additional = _additional_kinds(kind for c in comparisons for kind in c.intervals)
    return Table(
        title="",
        columns=(
            Column("task set", lambda c: f"{c.dataset}/{c.task_set}"),
            Column("interval", lambda c: f"{percent(c.difference.level)} {c.interval_kind}"),
            right("T", lambda c: c.difference.tasks),
            Column("method", lambda c: names[c.method]),
            Column("versus", lambda c: names[c.versus]),
            right("difference", difference_text),
            Column("verdict", lambda c: c.verdict),
            *(Column(heading, partial(verdict, kind)) for kind, heading in additional.items()),
        ),
        rows=comparisons,
        notes=tuple(
            f"Nothing is concluded (?) about {listing([*methods], 10)}: {reason}."
            for reason, methods in by_reason.items()
        ),
    )


def _verdicts_legend(reports: Iterable[Report | None]) -> str:
    """Return the legend of the reports' verdicts, kind by kind."""
    kinds = {
        kind
        for report in reports
        if report is not None
        for comparison in report.comparisons[:_MOST_ROWS]
        for kind in (comparison.interval_kind, *comparison.intervals)
    }
    closed = f", in closed sets one for {ESTIMANDS['closed']} alone" if "closed" in kinds else ""
    legends = [
        f" {heading}: {ADDITIONAL_KINDS[kind].legend}"
        for kind, heading in _additional_kinds(kinds).items()
    ]
    return (
        "Verdicts: + better, - worse, 0 no significant difference, = identical, ? not estimable; "
        "not corrected for multiple comparisons. verdict: whether 0 lies outside the interval of "
        f"the difference{closed}."
        f"{''.join(legends)}{' Half-widths in brackets are of these columns.' if legends else ''}"
    )


def _additional_kinds(kinds: Iterable[IntervalKind]) -> dict[IntervalKind, str]:
    """Return the headings of additional kinds, in their order."""
    present = set(kinds)
    return {kind: row.heading for kind, row in ADDITIONAL_KINDS.items() if kind in present}


def _standing_table(rows: list[tuple[Standing, Row]]) -> Table:
    """Return one line per method and task set."""

    def tasks(standing: Standing, row: Row) -> str:
        total = f" of {standing.scored.n_tasks}" if row.rank is None else ""
        return f"{row.accuracy.tasks}{total}"

    def claim(kind: IntervalKind, pair: tuple[Standing, Row]) -> str | None:
        return claim_text(pair[1].intervals.get(kind))

    additional = _additional_kinds(kind for _, row in rows for kind in row.intervals)
    return Table(
        title="",
        columns=(
            Column("task set", lambda pair: pair[0].scored),
            Column("interval", lambda p: f"{percent(p[0].level)} {p[0].interval_kind}"),
            right("T", lambda pair: tasks(*pair)),
            Column("method", lambda pair: label(pair[1])),
            right("rank", lambda p: f"{p[1].rank} of {p[0].compared}" if p[1].rank else "-"),
            right("accuracy", lambda pair: accuracy(pair[1])),
            right("behind", lambda pair: behind(pair[1])),
            Column("leader", lambda pair: pair[0].leader),
            Column("could be best", lambda pair: claim(pair[0].interval_kind, pair)),
            *(Column(heading, partial(claim, kind)) for kind, heading in additional.items()),
        ),
        rows=rows,
        notes=tuple(marks([row for _, row in rows])),
    )


def _lead_text(standing: Standing, row: Row) -> str:
    """Return a sentence on how far a leader is ahead of the next; empty for other methods."""
    others = (other for other in standing.rows if other.difference is not None)
    second = next(others, None) if row.method == standing.leader else None
    if second is None:
        return ""
    text = behind(second)
    text = "identical on every task" if text == "identical" else f"behind by: {text}"
    return f"{row.method} would lead {standing.scored}. Next is {second.method}, {text}."
