"""What a table of a paper holds: which methods and task sets, and their numbers as plain values."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from analysis_sql.comparison.verdicts import Verdict
from analysis_sql.intervals.intervals import Interval
from benchmark_spec.errors import SpecError, SubmissionError, UnknownNameError, listing
from benchmark_spec.protocol import ABOUTS, EPISODES, About, IntervalKind, suite_of
from fslbench_data.scoring.dataset_means import dataset_means
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import Score, Signature
from fslbench_data.scoring.selection import whole_names
from fslbench_data.scoring.summary import baselines, behind_best, judged_of
from fslbench_data.scoring.task_set_report import TaskSetReport, own_methods, primary_sets
from fslbench_data.tasks import TaskSetInfo

_CLAIMS = (Verdict.BETTER, Verdict.WORSE)


class PaperRow(Struct, frozen=True):
    """A method, or with `versus` the difference of two, the first minus the second."""

    method: str
    versus: str = ""

    @property
    def names(self) -> list[str]:
        """The method or both."""
        return [name for name in (self.method, self.versus) if name]


class PaperCell(Struct, frozen=True):
    """A method's accuracy on a task set, or a difference of two methods there.

    `strong` is the highest mean, or a significant difference; `not_significant` is whether the
    difference from the highest mean is not, None where it is not tested.
    """

    interval: Interval
    strong: bool = False
    not_significant: bool | None = None
    verdict: Verdict | None = None
    stopped: bool = False
    first_tasks: bool = False
    unbound: bool = False


class PaperColumn(Struct, frozen=True):
    """A task set; `pairs` of methods are adjusted for, and a cell is None without results.

    Or, with `over`, the mean over so many data sets, of which `of` is the first's task set.
    """

    of: TaskSetReport
    heading: str
    kind: IntervalKind
    pairs: int
    cells: tuple[PaperCell | None, ...]
    over: int = 0

    @property
    def scored(self) -> TaskSetInfo:
        """The task set."""
        return self.of.scored

    @property
    def dataset(self) -> str:
        """The data set, or that it is a mean."""
        return "mean" if self.over else self.scored.dataset


class PaperContent(Struct, frozen=True, dict=True):
    """Rows and columns of a table for a paper; the signature is of these task sets alone.

    Task sets `left_out` are those of the report that have no column.
    """

    about: About
    signature: Signature
    rows: tuple[PaperRow, ...]
    columns: tuple[PaperColumn, ...]
    left_out: tuple[str, ...]

    @cached_property
    def sets(self) -> list[PaperColumn]:
        """The columns that are no means."""
        return [column for column in self.columns if not column.over]

    @cached_property
    def methods(self) -> list[str]:
        """The methods of all rows, each once."""
        return [*dict.fromkeys(name for row in self.rows for name in row.names)]

    @cached_property
    def scores(self) -> list[tuple[Score, PaperColumn]]:
        """The scores of the rows' methods, and the columns that they are in."""
        return [(s, c) for c in self.sets for s in c.of.scores if s.method in self.methods]

    @cached_property
    def transductive(self) -> set[str]:
        """Methods that use a task's queries together."""
        return {score.method for score, _ in self.scores if score.transductive}

    @cached_property
    def sides(self) -> tuple[str, str]:
        """The first method and the second that all rows have; empty where rows differ in it."""
        first, second = {row.method for row in self.rows}, {row.versus for row in self.rows}
        return first.pop() if len(first) == 1 else "", second.pop() if len(second) == 1 else ""


def paper_content(
    report: Report,
    about: About,
    *,
    methods: Sequence[str] = (),
    against: Sequence[str] = (),
    suites: Sequence[str] = (),
    every: bool = False,
    all_references: bool = False,
    means: bool = False,
) -> PaperContent:
    """Choose the rows and columns of a report that a paper shows, and fill them in.

    `methods` are the rows; with `against` they are differences. `suites`, `every` task set and
    `all_references` widen or narrow the leading task sets and the closest references; `means` adds
    those over data sets.
    """
    chosen = _chosen_sets(report, about, suites, every=every)
    sets = [each for each, _ in chosen]
    rows = _rows_of(sets, methods, against, all_references=all_references)
    scored = tuple(each.scored for each in sets)
    there = {str(each) for each in scored}
    unbound = tuple(text for text in report.signature.unbound if text.partition(" on ")[2] in there)
    columns = [
        _column(each, kind, heading, rows, unbound)
        for (each, kind), heading in zip(chosen, headings(scored), strict=True)
    ]
    if means:
        averaged = report.averaged
        columns += _means([column for column in columns if column.of in averaged], rows, about)
    return PaperContent(
        about,
        replace(report.signature, sets=scored, unbound=unbound),
        tuple(rows),
        tuple(columns),
        tuple(str(each.scored) for each in report.sets if each.scored not in scored),
    )


def _kind_about(each: TaskSetReport, about: About) -> IntervalKind | None:
    """Return the kind of interval of a task set that is about something, if it has one."""
    if about == "closed":
        return "closed" if each.interval_kind == "closed" else None
    return each.kind_about(about)


def _chosen_sets(
    report: Report, about: About, suites: Sequence[str], *, every: bool
) -> list[tuple[TaskSetReport, IntervalKind]]:
    """Choose task sets that have such intervals, the leading ones or every one, and these' kind."""
    if about not in ABOUTS:
        expected = ", ".join(ABOUTS)
        raise SpecError(f"{about!r} is nothing that intervals are about", expected=expected)
    there = dict.fromkeys(each.scored.name.suite for each in report.sets)
    for suite in suites:
        if suite not in there:
            raise UnknownNameError("suite", suite, there, where="--suite")
    sets = [s for s in report.sets if not suites or s.scored.name.suite in suites]
    if not (having := [each for each in sets if _kind_about(each, about)]):
        of = "that is closed" if about == "closed" else f"for {about}"
        other = next(word for word in ABOUTS if any(_kind_about(each, word) for each in sets))
        raise SubmissionError(
            f"no interval {of} on {listing([each.scored for each in sets], 4)}",
            expected="task sets that have one",
            fix=f'ask for other intervals, such as --kind "{other}", or answer other task sets',
        )
    shown = having if every else primary_sets(having)
    return [(each, kind) for each in shown if (kind := _kind_about(each, about))]


def _rows_of(
    sets: Sequence[TaskSetReport],
    methods: Sequence[str],
    against: Sequence[str],
    *,
    all_references: bool,
) -> list[PaperRow]:
    """Choose the rows; FSLBenchError if there is no such method, or nothing to compare."""
    there = dict.fromkeys(name for each in sets for name in each.methods)
    features = {s.backbone for each in sets for s in each.scores[: len(each.requested)]} - {""}
    methods = whole_names(methods, there, features, where="--method")
    others = whole_names(against, there, features, where="--against")
    own = [*dict.fromkeys(name for each in sets for name in own_methods(each))]
    if others:
        methods = methods or [name for name in own if name not in others]
        rows = [PaperRow(name, other) for name in methods for other in others if name != other]
        if not rows:
            raise SubmissionError(
                f"there is nothing to compare with {listing(others)}",
                fix="name other methods with --method or --against",
            )
        return rows
    compared = (
        each.methods[i]
        for each in sets
        for row in range(len(each.requested))
        for i in baselines(each, row, (), all_references=all_references)
    )
    return [PaperRow(name) for name in methods or dict.fromkeys([*own, *compared])]


def headings(sets: Sequence[TaskSetInfo]) -> list[str]:
    """Name task sets as shortly as can be, without two of one name in a data set."""
    names = [scored.name for scored in sets]
    protocols = [name.protocol for name in names]
    if any(name.suite == EPISODES.name for name in names):
        return [name.suite if name.suite == EPISODES.name else str(name.protocol) for name in names]
    if len({(s.dataset, p) for s, p in zip(sets, protocols, strict=True)}) < len(sets):
        return [scored.task_set for scored in sets]
    one_way = len({p.way for p in protocols}) == 1
    alike = one_way and len({*protocols}) == len({p.shot for p in protocols})
    if all(suite_of(name.suite).whole for name in names):
        alike = len({(s.dataset, s.protocol.shot) for s in sets}) == len(sets)
    if alike:
        return [f"{p.shot}-shot" for p in protocols]
    return [str(p) for p in protocols]


def _column(
    each: TaskSetReport,
    kind: IntervalKind,
    heading: str,
    rows: Sequence[PaperRow],
    unbound: Collection[str],
) -> PaperColumn:
    """Fill in a task set: accuracies, tested against the highest mean, or differences, each alone.

    Accuracies are adjusted for all pairs of methods that answered all tasks.
    """
    at = {name: i for i, name in enumerate(each.methods)}
    judged = judged_of(each, [at[row.method] for row in rows if row.method in at])
    pairs, highest, differs = 0, 0.0, dict[int, bool]()
    if len(judged) > 1 and not rows[0].versus:
        behind, adjusted = behind_best(each, kind, judged)
        pairs, differs = adjusted.family, dict(zip(judged, behind.tolist(), strict=True))
        highest = max(each.scores[i].accuracy.mean for i in judged)
    cells: list[PaperCell | None] = []
    for row in rows:
        if not {*row.names} <= {*at}:
            cells.append(None)
            continue
        scores = [each.scores[at[name]] for name in row.names]
        if row.versus:
            (comparison,) = each.only(row.names).comparisons
            # of a run that had a rule to stop, there is only what follows from the rule
            pair = comparison.intervals.get(kind, comparison.intervals[comparison.interval_kind])
            interval, verdict = pair.difference, pair.verdict
            strong, near = verdict in _CLAIMS, None
        else:
            interval, verdict, i = scores[0].intervals[kind], None, at[row.method]
            strong = i in differs and scores[0].accuracy.mean > highest - 1e-9
            near = not (strong or differs[i]) if i in differs else None
        cells.append(
            PaperCell(
                interval,
                strong,
                near,
                verdict,
                stopped=any(score.stopped is not None for score in scores),
                first_tasks=interval.tasks < each.scored.n_tasks,
                unbound=any(f"{name} on {each.scored}" in unbound for name in row.names),
            )
        )
    return PaperColumn(each, heading, kind, pairs, tuple(cells))


def _means(
    columns: Sequence[PaperColumn], rows: Sequence[PaperRow], about: About
) -> Iterator[PaperColumn]:
    """Yield a column of means over data sets for each ways and shots of two or more of them."""
    by_protocol: dict[tuple[int | None, int | None], list[PaperColumn]] = {}
    for column in columns:
        by_protocol.setdefault(column.scored.ways_and_shots, []).append(column)
    for (ways, shots), some in by_protocol.items():
        if (number := len({column.dataset for column in some})) < 2:
            continue
        cells = [_mean_of(row, some, about, number) for row in rows]
        highest = max((cell.interval.mean for cell in cells if cell is not None), default=0.0)
        cells = [
            replace(cell, strong=True)
            if cell and cell.verdict is None and cell.interval.mean > highest - 1e-9
            else cell
            for cell in cells
        ]
        way = f"{ways}-way " if ways and len({way for way, _ in by_protocol}) > 1 else ""
        heading = EPISODES.name if shots is None else f"{way}{shots}-shot"
        yield replace(some[0], heading=heading, pairs=0, cells=tuple(cells), over=number)


def _mean_of(
    row: PaperRow, columns: Sequence[PaperColumn], about: About, number: int
) -> PaperCell | None:
    """Return the mean of a row over all of so many data sets, if it is there on all."""
    names, sets = row.names, [column.of for column in columns]
    for mean in dataset_means([each.only(names) for each in sets if {*names} <= {*each.methods}]):
        if (mean.about, mean.versus or "", len(mean.datasets)) == (about, row.versus, number):
            value = mean.mean if mean.difference is None else mean.difference
            tasks = sum(each.scored.n_tasks for each in sets)
            of = columns[0].kind, mean.level, tasks, value, mean.halfwidth
            strong = mean.verdict in _CLAIMS
            return PaperCell(Interval(*of, constant=False), strong, verdict=mean.verdict)
    return None
