"""Choose the methods and task sets of a paper's table, and compute its cells."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from analysis_sql.comparisons import Verdict
from analysis_sql.intervals.intervals import Interval
from benchmark_spec.errors import SpecError, SubmissionError, UnknownNameError, listing
from benchmark_spec.protocol import ABOUTS, EPISODES, About, IntervalKind
from fslbench_data.scoring.dataset_means import dataset_means
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import Score, Signature
from fslbench_data.scoring.selection import whole_names
from fslbench_data.scoring.summary import (
    SIGNIFICANT,
    baselines,
    behind_best,
    candidates,
)
from fslbench_data.scoring.task_set_report import TaskSetReport, own_methods, primary_sets
from fslbench_data.tasks import TaskSetInfo


class PaperRow(Struct, frozen=True):
    """A method or, with `versus`, a difference: the first method minus the second."""

    method: str
    versus: str = ""

    @property
    def names(self) -> list[str]:
        """The names of the one or two methods."""
        return [name for name in (self.method, self.versus) if name]


class PaperCell(Struct, frozen=True):
    """A method's accuracy on a task set, or a difference of two methods there.

    `strong` marks the highest mean, or a significant difference; `not_significant` says whether the
    difference from the highest mean is not significant, None if it is not tested.
    """

    interval: Interval
    strong: bool = False
    not_significant: bool | None = None
    verdict: Verdict | None = None
    stopped: bool = False
    first_tasks: bool = False
    unbound: bool = False


class PaperColumn(Struct, frozen=True):
    """The cells of a task set, adjusted for `pairs` of methods; None for rows without results.

    With `over`, they are means over so many data sets, and `of` is the first one's task set.
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
        """The data set, or ``mean``."""
        return "mean" if self.over else self.scored.dataset


class PaperContent(Struct, frozen=True, dict=True):
    """Rows and columns of a paper's table; the signature has only the columns' task sets.

    `left_out` are the report's other task sets.
    """

    about: About
    signature: Signature
    rows: tuple[PaperRow, ...]
    columns: tuple[PaperColumn, ...]
    left_out: tuple[str, ...]

    @cached_property
    def sets(self) -> list[PaperColumn]:
        """The columns of single task sets, without means."""
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
        """The first and the second method that all rows share; empty where rows differ."""
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
    """Choose the rows and columns of a report that a paper shows, and compute the cells.

    `methods` are the rows; with `against` they are differences.  `suites` limits the task sets to
    these, `every` takes all instead of the primary ones; `all_references` takes all reference
    methods instead of the closest; `means` adds columns of means over data sets.
    """
    chosen = _chosen_sets(report, about, suites, every=every)
    sets = [task_set for task_set, _ in chosen]
    rows = _rows_of(sets, methods, against, all_references=all_references)
    scored = tuple(task_set.scored for task_set in sets)
    names = {str(info) for info in scored}
    unbound = tuple(text for text in report.signature.unbound if text.partition(" on ")[2] in names)
    columns = []
    for (task_set, kind), heading in zip(chosen, headings(scored), strict=True):
        own = range(len(task_set.requested))
        counted = set() if methods else candidates(task_set, own, against)
        columns.append(_column(task_set, kind, heading, rows, counted, unbound))
    if means:
        averaged = report.averaged
        columns += _means([column for column in columns if column.of in averaged], rows, about)
    return PaperContent(
        about,
        replace(report.signature, sets=scored, unbound=unbound),
        tuple(rows),
        tuple(columns),
        tuple(str(s.scored) for s in report.sets if s.scored not in scored),
    )


def _kind_about(task_set: TaskSetReport, about: About) -> IntervalKind | None:
    """Return the kind of interval of a task set that is about something, if it has one."""
    if about == "closed":
        return "closed" if task_set.interval_kind == "closed" else None
    return task_set.kind_about(about)


def _chosen_sets(
    report: Report, about: About, suites: Sequence[str], *, every: bool
) -> list[tuple[TaskSetReport, IntervalKind]]:
    """Choose the primary or all task sets that have such intervals; return them with the kind."""
    if about not in ABOUTS:
        expected = ", ".join(ABOUTS)
        raise SpecError(f"{about!r} is nothing that intervals are about", expected=expected)
    known = dict.fromkeys(task_set.scored.name.suite for task_set in report.sets)
    for suite in suites:
        if suite not in known:
            raise UnknownNameError("suite", suite, known, where="--suite")
    sets = [s for s in report.sets if not suites or s.scored.name.suite in suites]
    if not (having := [task_set for task_set in sets if _kind_about(task_set, about)]):
        which = "that is closed" if about == "closed" else f"for {about}"
        other = next(word for word in ABOUTS if any(_kind_about(s, word) for s in sets))
        raise SubmissionError(
            f"no interval {which} on {listing([task_set.scored for task_set in sets], 4)}",
            expected="task sets that have one",
            fix=f'ask for other intervals, such as --kind "{other}", or answer other task sets',
        )
    shown = having if every else primary_sets(having)
    return [(task_set, kind) for task_set in shown if (kind := _kind_about(task_set, about))]


def _rows_of(
    sets: Sequence[TaskSetReport],
    methods: Sequence[str],
    against: Sequence[str],
    *,
    all_references: bool,
) -> list[PaperRow]:
    """Choose the rows; raise an FSLBenchError if a name fits no method, or nothing is compared."""
    known = dict.fromkeys(name for task_set in sets for name in task_set.methods)
    own_scores = (score for s in sets for score in s.scores[: len(s.requested)])
    features = {score.backbone for score in own_scores} - {""}
    methods = whole_names(methods, known, features, where="--method")
    others = whole_names(against, known, features, where="--against")
    own = [*dict.fromkeys(name for task_set in sets for name in own_methods(task_set))]
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
        task_set.methods[i]
        for task_set in sets
        for row in range(len(task_set.requested))
        for i in baselines(task_set, row, (), all_references=all_references)
    )
    return [PaperRow(name) for name in methods or dict.fromkeys([*own, *compared])]


def headings(sets: Sequence[TaskSetInfo]) -> list[str]:
    """Name task sets as shortly as possible, without two of one name in a data set."""
    names = [scored.name for scored in sets]
    protocols = [name.protocol for name in names]
    if any(name.suite == EPISODES.name for name in names):
        return [name.suite if name.suite == EPISODES.name else str(name.protocol) for name in names]
    if len({(s.dataset, p) for s, p in zip(sets, protocols, strict=True)}) < len(sets):
        return [scored.task_set for scored in sets]
    one_way = len({p.way for p in protocols}) == 1
    shots_suffice = one_way and len({*protocols}) == len({p.shot for p in protocols})
    if all(name.whole for name in names):
        shots_suffice = len({(s.dataset, s.protocol.shot) for s in sets}) == len(sets)
    knows_shots = any(p.shot for p in protocols)
    return [
        str(p) if not shots_suffice else f"{p.shot}-shot" if knows_shots else f"{p.way}-way"
        for p in protocols
    ]


def _column(
    task_set: TaskSetReport,
    kind: IntervalKind,
    heading: str,
    rows: Sequence[PaperRow],
    counted: set[int],
    unbound: Collection[str],
) -> PaperColumn:
    """Compute the cells of a task set: differences, or accuracies tested against the highest mean.

    The tests are adjusted for all pairs of methods that answered all tasks, those at the positions
    `counted` among them; differences are not adjusted.
    """
    position = {name: i for i, name in enumerate(task_set.methods)}
    in_rows = {position[row.method] for row in rows if row.method in position}
    judged = [i for i in sorted(in_rows | counted) if task_set.judged[i]]
    pairs, highest, differs = 0, 0.0, dict[int, bool]()
    if len(judged) > 1 and not rows[0].versus:
        behind, adjusted = behind_best(task_set, kind, judged)
        pairs, differs = adjusted.family, dict(zip(judged, behind.tolist(), strict=True))
        highest = max(task_set.scores[i].accuracy.mean for i in judged)
    cells: list[PaperCell | None] = []
    for row in rows:
        if not position.keys() >= {*row.names}:
            cells.append(None)
            continue
        scores = [task_set.scores[position[name]] for name in row.names]
        if row.versus:
            (comparison,) = task_set.only(row.names).comparisons
            # for a run that had a rule to stop, there is only the primary kind
            pair = comparison.intervals.get(kind, comparison.intervals[comparison.interval_kind])
            interval, verdict = pair.difference, pair.verdict
            strong, not_significant = verdict in SIGNIFICANT, None
        else:
            interval, verdict, i = scores[0].intervals[kind], None, position[row.method]
            strong = i in differs and scores[0].accuracy.mean > highest - 1e-9
            not_significant = not (strong or differs[i]) if i in differs else None
        cells.append(
            PaperCell(
                interval,
                strong,
                not_significant,
                verdict,
                stopped=any(score.stopped is not None for score in scores),
                first_tasks=interval.tasks < task_set.scored.n_tasks,
                unbound=any(f"{name} on {task_set.scored}" in unbound for name in row.names),
            )
        )
    return PaperColumn(task_set, heading, kind, pairs, tuple(cells))


def _means(
    columns: Sequence[PaperColumn], rows: Sequence[PaperRow], about: About
) -> Iterator[PaperColumn]:
    """Yield a column of means for each ways and shots that two or more data sets have."""
    by_protocol: dict[tuple[int | None, int | None], list[PaperColumn]] = {}
    for column in columns:
        by_protocol.setdefault(column.scored.ways_and_shots, []).append(column)
    several_ways = len({ways for ways, _ in by_protocol}) > 1
    for (ways, shots), alike in by_protocol.items():
        n_datasets = len({column.dataset for column in alike})
        if n_datasets < 2:
            continue
        cells = [_mean_cell(row, alike, about, n_datasets) for row in rows]
        highest = max((cell.interval.mean for cell in cells if cell is not None), default=0.0)
        for i, cell in enumerate(cells):
            if cell and cell.verdict is None and cell.interval.mean > highest - 1e-9:
                cells[i] = replace(cell, strong=True)
        ways_text = f"{ways}-way " if ways and (several_ways or not shots) else ""
        heading = EPISODES.name if shots is None else ways_text + (f"{shots}-shot" if shots else "")
        yield replace(alike[0], heading=heading, pairs=0, cells=tuple(cells), over=n_datasets)


def _mean_cell(
    row: PaperRow, columns: Sequence[PaperColumn], about: About, n_datasets: int
) -> PaperCell | None:
    """Return the mean of a row over the data sets, if it has results on all of them."""
    names, sets = row.names, [column.of for column in columns]
    for mean in dataset_means([s.only(names) for s in sets if {*names} <= {*s.methods}]):
        if (mean.about, mean.versus or "", len(mean.datasets)) == (about, row.versus, n_datasets):
            value = mean.mean if mean.difference is None else mean.difference
            tasks = sum(task_set.scored.n_tasks for task_set in sets)
            interval = Interval(
                columns[0].kind, mean.level, tasks, value, mean.halfwidth, constant=False
            )
            return PaperCell(interval, mean.verdict in SIGNIFICANT, verdict=mean.verdict)
    return None
