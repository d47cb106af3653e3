"""What a table of a paper holds: which methods and task sets, and their numbers as plain values."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from analysis_sql.comparison.verdicts import Verdict
from analysis_sql.intervals.intervals import Interval
from analysis_sql.ranking.multiple_comparisons import FEW_TASKS
from benchmark_spec.errors import SpecError, SubmissionError, UnknownNameError, listing
from benchmark_spec.protocol import ABOUTS, EPISODES, About, IntervalKind, suite_of
from fslbench_data.scoring.dataset_means import DatasetMean, dataset_means
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import Signature, may_be_training_runs
from fslbench_data.scoring.selection import whole_names
from fslbench_data.scoring.summary import baselines, behind_best, judged_of
from fslbench_data.scoring.task_set_report import TaskSetReport, own_methods, primary_sets
from fslbench_data.tasks import TaskSetInfo


class PaperRow(Struct, frozen=True):
    """A method, or with `versus` the difference of two, the first minus the second."""

    method: str
    versus: str = ""


class TableRequest(Struct, frozen=True):
    """What a table of a report is to hold.

    `methods` are the rows; with `against` they are differences. `suites`, `every` task set and
    `all_references` widen or narrow the leading task sets and the closest references; `means` adds
    those over data sets.
    """

    about: About = "new images"
    methods: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    every: bool = False
    all_references: bool = False
    means: bool = False

    def __post_init__(self) -> None:
        if self.about not in ABOUTS:
            raise SpecError(
                f"{self.about!r} is nothing that intervals are about", expected=", ".join(ABOUTS)
            )


def kind_about(each: TaskSetReport, about: About) -> IntervalKind | None:
    """Return the kind of interval of a task set that is about something, if it has one."""
    if about == "closed":
        return "closed" if each.interval_kind == "closed" else None
    return each.kind_about(about)


def chosen_sets(report: Report, request: TableRequest) -> list[tuple[TaskSetReport, IntervalKind]]:
    """Choose task sets that have such intervals, the leading ones or every one, and these' kind."""
    suites = dict.fromkeys(each.scored.name.suite for each in report.sets)
    for suite in request.suites:
        if suite not in suites:
            raise UnknownNameError("suite", suite, suites, where="--suite")
    sets = [s for s in report.sets if not request.suites or s.scored.name.suite in request.suites]
    having = [each for each in sets if kind_about(each, request.about) is not None]
    if not having:
        of = "that is closed" if request.about == "closed" else f"for {request.about}"
        about = next(word for word in ABOUTS if any(kind_about(each, word) for each in sets))
        raise SubmissionError(
            f"no interval {of} on {listing([each.scored for each in sets], 4)}",
            expected="task sets that have one",
            fix=f'ask for other intervals, such as --kind "{about}", or answer other task sets',
        )
    chosen = having if request.every else primary_sets(having)
    kinds = [(each, kind_about(each, request.about)) for each in chosen]
    return [(each, kind) for each, kind in kinds if kind is not None]


def rows_of(sets: Sequence[TaskSetReport], request: TableRequest) -> list[PaperRow]:
    """Choose the rows; FSLBenchError if there is no such method, or nothing to compare."""
    methods = _known(request.methods, sets, "--method")
    own = [*dict.fromkeys(name for each in sets for name in own_methods(each))]
    if request.against:
        against = _known(request.against, sets, "--against")
        methods = methods or [name for name in own if name not in against]
        rows = [PaperRow(m, other) for m in methods for other in against if m != other]
        if not rows:
            raise SubmissionError(
                f"there is nothing to compare with {listing(against)}",
                fix="name other methods with --method or --against",
            )
        return rows
    compared = (
        each.methods[i]
        for each in sets
        for row in range(len(each.requested))
        for i in baselines(each, row, (), all_references=request.all_references)
    )
    return [PaperRow(name) for name in methods or dict.fromkeys([*own, *compared])]


def _known(names: Sequence[str], sets: Sequence[TaskSetReport], where: str) -> list[str]:
    """Return the whole names of methods, given whole or short ones."""
    there = dict.fromkeys(name for each in sets for name in each.methods)
    own = {score.backbone for each in sets for score in each.scores[: len(each.requested)]} - {""}
    return [*whole_names(names, there, own, where=where)]


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

    Or, with `over`, the mean over so many data sets, of which `scored` names the first's task set.
    """

    scored: TaskSetInfo
    heading: str
    kind: IntervalKind
    pairs: int
    cells: tuple[PaperCell | None, ...]
    over: int = 0

    @property
    def dataset(self) -> str:
        """The data set, or that it is a mean."""
        return "mean" if self.over else self.scored.dataset


class PaperContent(Struct, frozen=True):
    """Rows and columns of a table for a paper; the signature is of these task sets alone.

    `own` are methods of the results, in a block before the reference methods; `by_queries`
    are those whose intervals for new images use which queries were right; `runs` are the numbers of
    training runs that intervals count, of methods with several.  Data sets `grouped` have groups of
    images that count as one; in those `within`, new classes are of the same superclasses; `bounded`
    are sets whose half-widths are bounds, and `few` those of so few tasks that Student's interval
    is not exact; `trained` is whether no method with several runs says that it trains nothing.
    """

    about: About
    signature: Signature
    rows: tuple[PaperRow, ...]
    columns: tuple[PaperColumn, ...]
    transductive: frozenset[str]
    left_out: tuple[str, ...]
    of_one_model: tuple[str, ...]
    own: frozenset[str] = frozenset()
    by_queries: tuple[str, ...] = ()
    runs: tuple[int, ...] = ()
    grouped: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    bounded: tuple[str, ...] = ()
    few: tuple[str, ...] = ()
    trained: bool = True


def paper_content(report: Report, request: TableRequest) -> PaperContent:
    """Choose the rows and columns of a report that a paper shows, and fill them in."""
    chosen = chosen_sets(report, request)
    sets = [each for each, _ in chosen]
    rows = rows_of(sets, request)
    names = [str(each.scored) for each in sets]
    unbound = [text for text in report.signature.unbound if text.partition(" on ")[2] in names]
    columns = []
    for (each, kind), heading in zip(chosen, headings([s.scored for s in sets]), strict=True):
        fill = _differences if request.against else _accuracies
        cells, pairs = fill(each, kind, rows, frozenset(unbound))
        columns.append(PaperColumn(each.scored, heading, kind, pairs, cells))
    if request.means:
        averaged = report.averaged
        columns += _means([one for one in chosen if one[0] in averaged], rows, request.about)
    scored = tuple(each.scored for each in sets)
    methods = {name for row in rows for name in (row.method, row.versus)}
    return PaperContent(
        request.about,
        replace(report.signature, sets=scored, unbound=tuple(unbound)),
        tuple(rows),
        tuple(columns),
        frozenset(s.method for s in report.scores if s.transductive and s.method in methods),
        tuple(str(each.scored) for each in report.sets if each.scored not in scored),
        tuple(
            dict.fromkeys(s.method for s in report.scores if s.of_one_model and s.method in methods)
        ),
        frozenset(name for each in sets for name in own_methods(each)),
        _by_queries(chosen, methods),
        tuple(
            score.runs
            for each, kind in chosen
            for score in each.scores
            if score.method in methods and score.runs > 1 and kind != "closed"
        ),
        tuple(dict.fromkeys(each.scored.dataset for each in sets if each.units.groups)),
        tuple(
            dict.fromkeys(
                each.scored.dataset
                for each, kind in chosen
                if each.units.superclasses and kind == each.kind_about("new classes")
            )
        ),
        tuple(str(each.scored) for each, kind in chosen if kind in each.units.bounded),
        tuple(
            str(each.scored)
            for each, kind in chosen
            if kind == "open" and each.scored.n_tasks < FEW_TASKS
        ),
        may_be_training_runs(s for each in sets for s in each.scores if s.method in methods),
    )


def _by_queries(
    chosen: Sequence[tuple[TaskSetReport, IntervalKind]], methods: Collection[str]
) -> tuple[str, ...]:
    """Return those of the methods whose intervals use which queries were right.

    On sets of all classes at once all do; empty if there are only such.
    """
    there = [
        (score.method, score.by_queries, suite_of(each.scored.name.suite).whole)
        for each, kind in chosen
        for score in each.scores
        if kind == "images" and score.method in methods
    ]
    if not any(used for _, used, _ in there):
        return ()
    whole = {method for method, used, all_do in there if not (used or all_do)}
    return tuple(name for name in dict.fromkeys(name for name, *_ in there) if name not in whole)


def _accuracies(
    each: TaskSetReport, kind: IntervalKind, rows: Sequence[PaperRow], unbound: Collection[str]
) -> tuple[tuple[PaperCell | None, ...], int]:
    """Return the cells of methods, and the number of pairs for which verdicts are adjusted."""
    there = {name: i for i, name in enumerate(each.methods)}
    positions = {row.method: there[row.method] for row in rows if row.method in there}
    whole = each.counts.tasks == each.scored.n_tasks
    judged = judged_of(each, positions.values())
    standing: dict[int, bool] = {}
    highest, pairs = np.inf, 0
    if len(judged) > 1:
        highest = max(each.scores[i].accuracy.mean for i in judged)
        differs, adjusted = behind_best(each, kind, judged)
        pairs, standing = adjusted.family, dict(zip(judged, (~differs).tolist(), strict=True))
    cells: list[PaperCell | None] = []
    for row in rows:
        if row.method not in positions:
            cells.append(None)
            continue
        i = positions[row.method]
        score = each.scores[i]
        strong = i in standing and score.accuracy.mean > highest - 1e-9
        cells.append(
            PaperCell(
                score.intervals[kind],
                strong,
                False if strong else standing.get(i),
                stopped=score.stopped is not None,
                first_tasks=not whole[i],
                unbound=f"{row.method} on {each.scored}" in unbound,
            )
        )
    return tuple(cells), pairs


def _means(
    chosen: Sequence[tuple[TaskSetReport, IntervalKind]], rows: Sequence[PaperRow], about: About
) -> list[PaperColumn]:
    """Return a column of means over data sets for each ways and shots of two or more of them."""
    by_protocol: dict[tuple[int | None, int | None], list[tuple[TaskSetReport, IntervalKind]]] = {}
    for each, kind in chosen:
        by_protocol.setdefault(each.scored.ways_and_shots, []).append((each, kind))
    columns = []
    for (ways, shots), some in by_protocol.items():
        number = len({each.scored.dataset for each, _ in some})
        if number < 2:
            continue
        means = [_mean_of(row, [each for each, _ in some], about) for row in rows]
        whole = [m if m is not None and len(m.datasets) == number else None for m in means]
        highest = max((m.mean for m in whole if m is not None), default=0.0)
        (first, kind), tasks = some[0], sum(each.scored.n_tasks for each, _ in some)
        cells = [None if m is None else _mean_cell(m, kind, tasks, highest) for m in whole]
        way = f"{ways}-way " if ways and len({way for way, _ in by_protocol}) > 1 else ""
        heading = EPISODES.name if shots is None else f"{way}{shots}-shot"
        columns.append(PaperColumn(first.scored, heading, kind, 0, tuple(cells), number))
    return columns


def _mean_of(row: PaperRow, sets: Sequence[TaskSetReport], about: About) -> DatasetMean | None:
    names = [name for name in (row.method, row.versus) if name]
    means = dataset_means([each.only(names) for each in sets if {*names} <= {*each.methods}])
    wanted = (m for m in means if m.about == about and (m.versus or "") == row.versus)
    return next(wanted, None)


def _mean_cell(mean: DatasetMean, kind: IntervalKind, tasks: int, highest: float) -> PaperCell:
    value = mean.mean if mean.difference is None else mean.difference
    interval = Interval(kind, mean.level, tasks, value, mean.halfwidth, constant=False)
    if mean.difference is None:
        return PaperCell(interval, strong=value > highest - 1e-9)
    return PaperCell(interval, mean.verdict in (Verdict.BETTER, Verdict.WORSE), None, mean.verdict)


def _differences(
    each: TaskSetReport, kind: IntervalKind, rows: Sequence[PaperRow], unbound: Collection[str]
) -> tuple[tuple[PaperCell | None, ...], int]:
    """Return the cells of differences, which are not adjusted."""
    cells: list[PaperCell | None] = []
    for row in rows:
        names = row.method, row.versus
        if not {*names} <= {*each.methods}:
            cells.append(None)
            continue
        (comparison,) = each.only(names).comparisons
        # of a run that had a rule to stop, there is only what follows from the rule
        pair = comparison.intervals.get(kind, comparison.intervals[comparison.interval_kind])
        scores = [each.scores[each.methods.index(name)] for name in names]
        cells.append(
            PaperCell(
                pair.difference,
                pair.verdict in (Verdict.BETTER, Verdict.WORSE),
                verdict=pair.verdict,
                stopped=any(score.stopped is not None for score in scores),
                first_tasks=pair.difference.tasks < each.scored.n_tasks,
                unbound=any(f"{name} on {each.scored}" in unbound for name in names),
            )
        )
    return tuple(cells), 0
