"""Figures as rows of plain values, with their captions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from analysis_sql.comparisons import Comparison
from analysis_sql.interval_kinds import ABOUT, ESTIMANDS
from analysis_sql.intervals.intervals import Interval
from analysis_sql.multiple_comparisons import count_verdicts
from benchmark_spec.declared import parsed_json
from benchmark_spec.errors import SubmissionError, UnknownNameError, listing
from fslbench_data.render.figures.charts import (
    BETWEEN,
    OTHERS,
    OWN,
    REFERENCE,
    TIES,
    VERDICT_NAMES,
    Figure,
    Row,
)
from fslbench_data.render.interval_text import (
    AT_MOST,
    CLAIMS,
    about_in,
    capital,
    difference_text,
    family_in,
    new_runs_text,
    one_model_text,
    percent,
    plus_minus,
    runs_word,
    sentences,
    span,
    width_text,
)
from fslbench_data.scoring.bias import Ladder, step_of
from fslbench_data.scoring.dataset_means import DatasetMean, dataset_means
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import PREFIX
from fslbench_data.scoring.summary import Summary, summarize
from fslbench_data.scoring.task_set_report import TaskSetReport, own_methods, primary_sets

Pair = tuple[TaskSetReport, Comparison]
MOST_COMPARED = 30
"""Comparisons in the figure of several task sets, at most."""

MOST_PAIRS = 1000
"""Comparisons of a forest, and among which the clearest is sought, at most."""

CLOSED_ERROR_BARS, ERROR_BARS = "usual intervals", "separate intervals"

Codes = NDArray[np.int8]


def forest(sets: Sequence[TaskSetReport]) -> Figure:
    """Return paired differences on one task set, the largest first, or of one pair on several."""
    number = sum(len(each.comparisons) for each in sets)
    if not number:
        raise SubmissionError("there is nothing to compare", expected="two methods on a task set")
    if _has_pairs(sets) and len(sets) > 1:
        longest = max((each.scored for each in sets), key=lambda scored: scored.n_tasks)
        raise SubmissionError(
            f"{number:,} comparisons on {len(sets)} task sets",
            expected="pairs on one task set, or one pair on several",
            fix="choose with --dataset and --task-set, such as --dataset "
            f"{longest.dataset} --task-set {longest.task_set}, or two methods with --method",
        )
    if number > MOST_PAIRS:
        raise SubmissionError(
            f"{number:,} comparisons",
            expected=f"at most {MOST_PAIRS:,} in a figure",
            fix="choose methods with --method",
        )
    pairs = [(each, c.displayed) for each in sets for c in each.comparisons]
    if len(sets) == 1:
        pairs.sort(key=lambda pair: -pair[1].difference.mean)
    return _forest(sets, pairs)


def _has_pairs(sets: Sequence[TaskSetReport]) -> bool:
    """Return whether more than one pair of methods is compared."""
    return len({(c.method, c.versus) for each in sets for c in islice(each.comparisons, 2)}) > 1


def forest_of(report: Report) -> Figure:
    """Return a report's differences; of several pairs on several task sets those of its summary.

    Raises a SubmissionError if these are :data:`MOST_COMPARED` or more.
    """
    if len(report.sets) > 1 and _has_pairs(report.sets):
        figure = summary_forest(summarize(report))
        if figure is not None and len(figure.rows) < MOST_COMPARED:
            return figure
    return forest(report.sets)


def summary_forest(summary: Summary) -> Figure | None:
    """Return the differences of the first method by data set and shots, or None without any.

    A single method is compared with those in its summary's table, the best of several with all
    others.
    """
    pairs = [*islice(compared(summary), MOST_COMPARED)]
    if not pairs:
        return None
    sets = {str(each.scored): each for each, _ in pairs}
    figure = _forest([*sets.values()], pairs, reasons=False)
    if len(pairs) < MOST_COMPARED:
        return figure
    return replace(figure, caption=f"{figure.caption} At most {MOST_COMPARED} are shown.")


def clearest(summary: Summary) -> Pair | None:
    """Return the comparison of a summary whose difference has the most half-widths."""

    def ratio(pair: Pair) -> float:
        difference = pair[1].difference
        return abs(difference.mean) / difference.halfwidth if difference.halfwidth else 0.0

    return max(islice(compared(summary), MOST_PAIRS), key=ratio, default=None)


def compared(summary: Summary) -> Iterator[Pair]:
    """Yield the comparisons of a summary as they are displayed, each with its task set."""
    for row in summary.rows:
        yield from ((row.primary, comparison.displayed) for comparison in row.displayed)
    for column in summary.columns:
        task_set, (first, *others) = column.primary, summary.methods
        answering = [name for name in others if name in column.by_method]
        if first in column.by_method and answering:
            position = task_set.methods.index
            versus = np.array([position(name) for name in answering])
            comparisons = task_set.comparisons_of(position(first), versus)
            yield from ((task_set, comparison.displayed) for comparison in comparisons)


def _forest(
    sets: Sequence[TaskSetReport], pairs: Sequence[Pair], *, reasons: bool = True
) -> Figure:
    """Return differences; with `reasons` the caption says why nothing is concluded about some."""
    methods, others = {c.method for _, c in pairs}, {c.versus for _, c in pairs}
    if len(sets) > 1 and len(others) > 1:
        labels = [f"{task_set.scored}: {c.versus}" for task_set, c in pairs]
    elif len(sets) > 1:
        labels = [str(task_set.scored) for task_set, _ in pairs]
    elif len(methods) > 1:
        labels = [f"{c.method}{BETWEEN}{c.versus}" for _, c in pairs]
    else:
        labels = [c.versus for _, c in pairs]
    versus = min(others) if len(others) == 1 else "others"
    title = f"{min(methods)} compared with {versus}" if len(methods) == 1 else "Methods compared"
    rows = [
        {
            "label": label,
            "subject": c.method,
            "versus": c.versus,
            "mean": c.difference.mean,
            **_both_ends([pair.difference for pair in c.intervals.values()]),
            "verdict": VERDICT_NAMES[c.verdict.value],
            "shown": f"{difference_text(c)}; {c.reason}" if c.reason else difference_text(c),
        }
        for label, (_, c) in zip(labels, pairs, strict=True)
    ]
    caption = set_caption(sets, [c.difference.tasks for _, c in pairs])
    if any(c.verdict.value in "+-0" for _, c in pairs):
        about = listing([*dict.fromkeys(ABOUT[each.displayed_kinds[0]] for each in sets)])
        many = f" (not corrected for {len(pairs)} comparisons)" if len(pairs) > 1 else ""
        caption += f" Shapes and colours: significant for {about} or not (ns){many}."
    caption += _of_one_model(name for _, c in pairs for name in c.of_one_model)
    for reason in dict.fromkeys(c.reason for _, c in pairs if c.reason and reasons):
        unjudged = [
            label for label, (_, c) in zip(labels, pairs, strict=True) if c.reason == reason
        ]
        caption += _without_verdict(unjudged, reason)
    return Figure("forest", on_sets(title, sets), caption, placed(rows))


def accuracies(each: TaskSetReport) -> Figure:
    """Return mean accuracies on a task set, the highest first."""
    first = each.displayed_kinds[0]
    tied, lower, unjudged = TIES
    standing: dict[str, str] = {}
    if each.ties is not None and first in each.ties.tied:
        standing = dict.fromkeys(each.ties.methods, lower)
        standing |= dict.fromkeys(each.ties.tied[first], tied)
    own = own_methods(each)
    rows = [
        {
            "label": score.method,
            "mean": score.accuracy.mean,
            **_both_ends([score.intervals[kind] for kind in each.displayed_kinds]),
            "standing": standing.get(score.method, unjudged),
            "whose": OWN if score.method in own else REFERENCE,
            "shown": plus_minus(score.intervals[first]) + (f"; {PREFIX}" if score.prefix else ""),
        }
        for score in sorted(each.scores, key=lambda score: -score.accuracy.mean)
    ]
    caption = set_caption([each], [score.accuracy.tasks for score in each.scores])
    if each.ties is not None and standing:
        pairs = each.ties.family
        many = f" (Holm, {pairs} pairs)" if pairs > 1 else ""
        caption += f" Lower, and ns (no significant difference): for {ABOUT[first]}{many}."
    caption += _of_one_model(score.method for score in each.scores if score.of_one_model)
    caption += _without_verdict([score.method for score in each.scores if score.prefix], PREFIX)
    stopped = [score.method for score in each.scores if score.stopped is not None]
    caption += _without_verdict(stopped, "a rule to stop chose the number of tasks")
    return Figure("accuracies", on_sets("Accuracies", [each]), caption, placed(rows))


def means(report: Report) -> Figure:
    """Return means over data sets of the same ways and shots, the highest first."""
    by_method: dict[str, list[DatasetMean]] = {}
    without_pairs = [replace(each, requested=each.requested & False) for each in report.averaged]
    of_methods = dataset_means(without_pairs)
    protocols = dict.fromkeys(row.tasks for row in of_methods)
    if len(protocols) != 1:
        if protocols:
            raise SubmissionError(
                f"there are means of {listing([*protocols])} tasks",
                expected="one kind of task: a figure shows one",
                fix="choose with --task-set, such as open-5w5s5q",
            )
        raise SubmissionError(
            "there is no mean over data sets",
            expected="methods that all answer two data sets or more, of the same ways and shots",
        )
    for row in of_methods:
        by_method.setdefault(row.method, []).append(row)
    own = {name for each in report.sets for name in own_methods(each)}
    rows = [
        {
            "label": method,
            "mean": first.mean,
            **_both_ends([first, *more]),
            "standing": TIES[2],
            "whose": OWN if method in own else REFERENCE,
            "shown": f"{first.mean:.2f} ± {width_text(first.halfwidth)}" if first.halfwidth else "",
        }
        for method, (first, *more) in sorted(by_method.items(), key=lambda item: -item[1][0].mean)
    ]
    example = of_methods[0]
    datasets, protocol = example.datasets, (example.ways, example.shots)
    sets = [each for each in primary_sets(report.sets) if each.scored.ways_and_shots == protocol]
    caption = set_caption(sets, [each.scored.n_tasks for each in sets])
    caption += f" Each of {listing(datasets, 12)} counts alike, and they are fixed."
    scores = (score for each in sets for score in each.scores if score.method in by_method)
    caption += _of_one_model(score.method for score in scores if score.of_one_model)
    title = f"Means over {len(datasets)} data sets, {example.tasks}"
    return Figure("accuracies", title, caption, placed(rows))


def scatter(each: TaskSetReport, first: str, second: str) -> Figure:
    """Return the accuracies of two methods task by task; equal pairs are one point."""
    if first == second:
        raise SubmissionError(f"{first} is named twice", expected="two methods")
    for name in (first, second):
        if name not in each.methods:
            raise UnknownNameError("method", name, each.methods, where=str(each.scored))
    positions = [each.methods.index(name) for name in (first, second)]
    counts = each.counts
    n_tasks = int(counts.tasks[positions].min())
    x, y = (100.0 * counts.correct[i, :n_tasks] / counts.queries_per_task[i] for i in positions)
    points, numbers = np.unique(np.stack([x, y], axis=1), axis=0, return_counts=True)
    rows: list[Row] = [
        {"first": a, "second": b, "tasks": n}
        for (a, b), n in zip(points.tolist(), numbers.tolist(), strict=True)
    ]
    low, high = float(points.min()), float(points.max())
    rows += [{"end": low}, {"end": high}, {"x": first, "y": second}]
    c = each.only((first, second)).comparisons[0].displayed
    difference = f"{c.method} minus {c.versus}: {difference_text(c)} points"
    about = set_caption([each], [n_tasks], lines=False) + _of_one_model(c.of_one_model)
    about += _without_verdict([f"{c.method}, {c.versus}"] if c.reason else [], c.reason)
    caption = f"Pearson's r = {correlation(x, y)}. {difference}. {about}"
    return Figure("scatter", on_sets(f"{first} (x) and {second} (y)", [each]), caption, tuple(rows))


def correlation(x: Any, y: Any) -> str:
    """Return Pearson's correlation over tasks as text; undefined if a method's are all equal."""
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return "undefined"
    return f"{np.corrcoef(x, y)[0, 1]:z.2f}"


def conclusive(
    sets: Sequence[TaskSetReport], counted: Sequence[NDArray[np.bool_]] | None = None
) -> Figure:
    """Return how many comparisons each kind of claim calls conclusive, over task sets together.

    Counts are of the task sets that reuse no image, else of those with leave-one-out intervals,
    else of all.  `counted` are masks (F, M) of the pairs that count, by default each set's own.
    """
    masks = [each.counted for each in sets] if counted is None else counted
    included = [(each, mask) for each, mask in zip(sets, masks, strict=True) if mask.any()]
    leading = {each.displayed_kinds[0] for each, _ in included}
    first = next((kind for kind in ("open", "images") if kind in leading), "closed")
    included = [(each, mask) for each, mask in included if each.displayed_kinds[0] == first]
    # if some pairs have verdicts by the field's habit, count only these, so that shares compare
    with_habit = [
        (each, mask & (claims_of(each).get(CLOSED_ERROR_BARS, np.int8(-1)) >= 0))
        for each, mask in included
    ]
    included = [(each, mask) for each, mask in with_habit if mask.any()] or included
    if not included:
        raise SubmissionError("there is nothing to compare", expected="two methods on a task set")
    codes: dict[str, list[Codes]] = {}
    for each, mask in included:
        for claim, verdicts in claims_of(each).items():
            codes.setdefault(claim, []).append(verdicts[mask & (verdicts >= 0)])
    counts = count_verdicts({claim: np.concatenate(parts) for claim, parts in codes.items()})
    rows = [
        {
            "kind": claim,
            "share": 100.0 * (count.share or 0.0),
            "shown": f"{count.conclusive} of {count.compared}",
        }
        for claim, count in counts.items()
        if count.compared
    ]
    shown = [each for each, _ in included]
    tasks = [int(t) for each, mask in included for t in np.unique(each.pairs.tasks[mask])]
    caption = (
        f"{set_caption(shown, tasks, lines=False)} {capital(ERROR_BARS)}: those of the two methods "
        "do not overlap; usual ones are of tasks that reuse images. Else 0 lies outside the "
        "interval of the difference."
    )
    return Figure("conclusive", on_sets("Conclusive comparisons", shown), caption, placed(rows))


def claims_of(report: TaskSetReport) -> dict[str, Codes]:
    """Return verdicts (F, M) by claim, from the field's habit to the most careful; -1: none.

    Codes are positions in :data:`analysis_sql.comparisons.VERDICTS`.
    """
    primary, first = report.interval_kind, report.displayed_kinds[0]
    if first == "closed":
        claims = {CLOSED_ERROR_BARS: report.pairs.direct}
    elif first == primary:
        claims = {CLOSED_ERROR_BARS: report.closed_verdicts, ERROR_BARS: report.pairs.direct}
    else:
        direct = report.pairs_of(first).direct
        claims = {CLAIMS[primary]: report.pairs.verdict, ERROR_BARS: direct}
    return claims | {CLAIMS[kind]: report.pairs_of(kind).verdict for kind in report.displayed_kinds}


def ladder(report: Ladder, level: float, methods: Sequence[str] = ()) -> Figure:
    """Return the accuracy and wAcc of `methods`, by default all, on the steps of a ladder."""
    rows = [
        {
            "method": method,
            "step": step,
            "measure": measure,
            "mean": interval.mean,
            **ends(interval),
            "shown": plus_minus(interval),
        }
        for method, steps in report.scores(level).items()
        if not methods or method in methods
        for step, score in steps.items()
        for measure, interval in (("accuracy", score.accuracy), ("wAcc", score.worst))
    ]
    return _of_ladder("ladder", report, level, "accuracy and worst-class accuracy by step", rows)


def worst(report: Ladder, level: float, methods: Sequence[str] = ()) -> Figure:
    """Return accuracy on random tasks against wAcc on the last step, with `methods` named.

    Both are on the last step if no method answered random tasks (Figures 5 and S1 of Zheng et al.,
    ECCV 2024).
    """
    scores = report.scores(level)
    answered = {step for steps in scores.values() for step in steps}
    last_first = map(step_of, reversed(report.infos))
    last = next((step for step in last_first if step in answered), "")
    first = "random" if "random" in answered else last
    rows = [
        {
            "method": method,
            "named": method if not methods or method in methods else OTHERS,
            "accuracy": on_first.accuracy.mean,
            **ends(on_first.accuracy),
            "worst": on_last.worst.mean,
            **ends(on_last.worst, "worst_{}"),
        }
        for method, steps in scores.items()
        if (on_last := steps.get(last)) and (on_first := steps.get(first))
    ]
    order = {name: i for i, name in enumerate(methods)}
    rows.sort(key=lambda row: order.get(str(row["named"]), len(order)))
    about = f"accuracy on {first} tasks, worst-class accuracy on {last} ones"
    return _of_ladder("worst", report, level, about, rows)


def _of_ladder(kind: str, report: Ladder, level: float, about: str, rows: Sequence[Row]) -> Figure:
    if all(row.get("named") == OTHERS for row in rows):
        raise SubmissionError(
            f"none of these methods says which classes it answers rightly on {report.name}",
            where=report.dataset,
            expected="predictions, or class_correct, of one run",
            fix="choose other methods",
        )
    intervals = f"{percent(level)} intervals, {report.kind} ({ESTIMANDS[report.kind]})"
    tasks = [len(counts) for steps in report.by_method.values() for counts in steps.values()]
    caption = f"{intervals}. {tasks_text(tasks)} a step."
    if left_out := report.left_out:
        caption += (
            f" Not shown, without counts by class or with a rule to stop: {', '.join(left_out)}."
        )
    named = {row["method"] for row in rows if row.get("named") != OTHERS}
    caption += _of_one_model(name for name in report.of_one_model if name in named)
    title = f"{report.dataset}/{report.name}: {about}"
    return Figure(kind, title, caption, placed(rows) if kind == "ladder" else tuple(rows))


def queries(sweeps: Iterable[str | Path]) -> Figure:
    """Return half-widths by queries per class from files of ``fslbench-build query-size``."""
    rows: list[Row] = []
    about: dict[str, None] = {}
    for path in map(Path, sweeps):
        try:
            sweep = parsed_json(path.read_bytes())
            name = f"{sweep['dataset']}, {sweep['method']}, {sweep['way']}w{sweep['shot']}s"
            name = f"{name} ({path.stem})" if any(name == row["sweep"] for row in rows) else name
            drawn = f"{percent(sweep['level'])} open intervals, {sweep['seeds']} seeds a point"
            tasks = [float(row["tasks"]) for row in sweep["rows"]]
            about[f"{name}: {drawn}, T = {min(tasks):.8g} to {max(tasks):.8g} tasks"] = None
            rows += [
                {
                    "sweep": name,
                    "Q": int(row["query"]),
                    **{kind: _finite(row[kind]) for kind in ("observed", "model")},
                }
                for row in sweep["rows"]
            ]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SubmissionError(
                f"{path} is no sweep of the number of queries: {str(error)[:100]}",
                fix="fslbench-build query-size ... --format json -o FILE makes one",
            ) from None
    if not rows:
        raise SubmissionError("there is no sweep to show", expected="--sweep FILE.json")
    caption = "Points: mean half-width over seeds; lines: the model. " + "; ".join(about) + "."
    return Figure("queries", "Interval width against the number of queries", caption, tuple(rows))


def _finite(value: Any) -> float | None:
    """Return a finite number, or None for None."""
    if value is None:
        return None
    if not isfinite(value):
        raise ValueError(f"{value} is no half-width")
    return float(value)


def set_caption(sets: Sequence[TaskSetReport], tasks: Iterable[int], *, lines: bool = True) -> str:
    """Return level, kinds of interval and numbers of tasks; `lines` draw the second kind thin."""
    end = 2 if lines else None

    def names(kinds: slice) -> str:
        texts = [
            f"{about_in(each.scored, kind)} ({family_in(each.scored, kind)})"
            for each in sets
            for kind in each.displayed_kinds[kinds]
        ]
        return " and ".join(dict.fromkeys(texts))

    about, more = names(slice(1)), names(slice(1, end))
    if more:
        about = f"thick lines for {about}, thin lines for {more}" if lines else f"{about}, {more}"
    bounded = [
        ABOUT[kind]
        for each in sets
        for kind in each.displayed_kinds[:end]
        if kind in each.units.bounded
    ]
    bound = f"{AT_MOST} for {listing([*dict.fromkeys(bounded)])}" if bounded else ""
    with_runs = [each for each in sets if each.displayed_kinds[0] != "closed"]
    several = [score for each in with_runs for score in each.scores if score.runs > 1]
    runs = new_runs_text({s.runs for s in several}, runs_word(several))
    first = f"{percent(sets[0].level)} intervals: {about}"
    whole = all(each.scored.name.whole for each in sets)
    return " ".join(sentences(first, tasks_text(tasks, "draw" if whole else "task"), bound, runs))


def _of_one_model(names: Iterable[str]) -> str:
    """Return a sentence for the caption on methods with one training run; empty without any."""
    return "".join(f" {text}" for text in sentences(one_model_text([*dict.fromkeys(names)])))


def _without_verdict(labels: Sequence[str], reason: str) -> str:
    """Return a sentence for the caption on what nothing is concluded about; empty without any."""
    return f" Nothing is concluded about {listing(labels, 4)}: {reason}." if labels else ""


def tasks_text(tasks: Iterable[int], unit: str = "task") -> str:
    """Return ``T = 19 tasks``, or the fewest and the most."""
    numbers = [*tasks]
    return f"T = {span(numbers)} {unit}{'s' if max(numbers) != 1 else ''}"


def placed(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return the rows with their `place`, which the axis follows."""
    return tuple({**row, "place": i} for i, row in enumerate(rows))


def on_sets(title: str, sets: Sequence[TaskSetReport]) -> str:
    """Return a title with its task sets."""
    return f"{title} on {sets[0].scored if len(sets) == 1 else f'{len(sets)} task sets'}"


def _both_ends(intervals: Sequence[Interval | DatasetMean]) -> dict[str, float | None]:
    """Return the ends of the first interval and of the next, which are None if there is none."""
    return ends(intervals[0]) | ends(next(iter(intervals[1:]), None), "{}_new")


def ends(interval: Interval | DatasetMean | None, key: str = "{}") -> dict[str, float | None]:
    """Return the ends of an interval by `key`."""
    return {key.format(end): getattr(interval, end, None) for end in ("low", "high")}
