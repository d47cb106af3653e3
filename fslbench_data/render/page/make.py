"""The content of the report page, and ``report_page()``, which makes it."""

from __future__ import annotations

import gzip
import os
import shlex
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from html import escape
from math import isnan
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from analysis_sql.comparisons import VERDICTS
from analysis_sql.interval_kinds import ABOUT, ESTIMANDS, family_of
from benchmark_spec.errors import OutputError, SpecError, many
from benchmark_spec.protocol import IntervalKind
from fslbench_data.files import write_whole
from fslbench_data.release.release import AnyRelease, Release, load_release
from fslbench_data.render.figures import rows
from fslbench_data.render.figures.charts import OTHERS, VERDICT_NAMES, Figure
from fslbench_data.render.interval_text import CLAIMS, percent, unseen_text
from fslbench_data.render.page import INDEX
from fslbench_data.render.page.pictures import Images, hard_tasks, pictures_html
from fslbench_data.render.summary_text import summary_paper
from fslbench_data.render.templating import template
from fslbench_data.scoring.bias import Ladder, bias_on
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import no_results, report_on
from fslbench_data.scoring.scores import PREFIX
from fslbench_data.scoring.selection import Names, Selected, Selection, Sources, select
from fslbench_data.scoring.summary import Summary, summarize
from fslbench_data.scoring.task_set_report import TaskSetReport

MOST_CHOSEN = 50
"""Methods with pairs and tasks on a page, at most."""

LEVELS = (0.9, 0.95, 0.99)
"""Levels that can be chosen on a page, besides the one it was made with."""

MOST_METHODS = 50
"""Methods of the results in a summary's table, at most; with more, only the main level has one."""

Values = dict[str, Any]
Floats = NDArray[np.float64]
ByLevel = Mapping[float, TaskSetReport]
Upper = tuple[NDArray[Any], NDArray[Any]]
"""Rows and columns of the pairs, those of the upper triangle."""

SIGNS = {-1: " ", **{i: verdict.value for i, verdict in enumerate(VERDICTS)}}
"""Signs of verdicts by code; a blank for none."""


def page_content(
    selected: Selected,
    *,
    sweeps: Sequence[str | Path] = (),
    images: Images = None,
    arguments: str = "",
    progress: Callable[[str], object] = lambda _: None,
) -> Values:
    """Return a page's content: ``answers`` and ``pictures`` for its template, else for its script.

    The page opens at the level of `selected` and holds pairs and tasks of its methods, by default
    those of the submission, then the reference methods with the highest means, :data:`MOST_CHOSEN`
    in all.  The commands on it have `arguments`: files and release as the command line names them.
    """
    ladders: Sequence[Ladder] = ()
    if selected.left_out or any(info.name.attributes for info in selected.infos):
        progress("task sets made with attributes")
        ladders = bias_on(selected.on_ladders()).ladders
    queries = None
    if sweeps:
        files = [part for sweep in sweeps for part in ("--sweep", str(sweep))]
        command = shlex.join(["fslbench", "plot", "queries", *files, "-o", "queries.pdf"])
        queries = figure_values(rows.queries(sweeps), command)
    main_level = selected.selection.level
    levels = sorted({*LEVELS, main_level})
    reports: dict[float, Report] = {}
    for level in levels:
        say = partial(lambda at, task_set: progress(f"{at}, {task_set}"), percent(level))
        at_other_level = next(iter(reports.values()), None)
        reports[level] = report_on(selected, level, say, at_other_level)
    main = reports[main_level]
    answered = {method for task_set in main.sets for method in task_set.methods}
    names = tuple(name for name in selected.methods if name in answered)
    requested = selected.selection.methods or _chosen(selected, main)
    chosen = tuple(name for name in requested if name in answered)
    positions = [i for i, each in enumerate(main.sets) if {*chosen} & {*each.methods}]
    if not positions:
        raise no_results(requested, selected)
    progress("what the page holds")
    by_level = [{level: reports[level].sets[i] for level in levels} for i in positions]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # more threads wait for each other
        made = pool.map(lambda each: _set(each, main_level, names, chosen), by_level)
        sets, chosen_reports = zip(*made, strict=True)
    of_release = set(selected.references.methods) if selected.references else set()
    few = max(len(each.requested) for each in main.sets) <= MOST_METHODS  # more have many pairs
    summaries = {
        level: summarize(report) for level, report in reports.items() if few or level == main_level
    }
    opens = _opening(summaries[main_level])
    progress("pictures")
    hard = hard_tasks(selected.infos, [main.sets[i] for i in positions], chosen, ladders)
    return {
        "answers": [_summary_values(level, summary) for level, summary in summaries.items()],
        "pictures": pictures_html(selected.release, [*hard], opens["sets"], images),
        "opens": opens,
        "release": main.signature.release,
        "signature": {str(level): str(report.signature) for level, report in reports.items()},
        "unbound": bool(main.signature.unbound),
        "arguments": arguments,
        "level": main_level,
        "levels": levels,
        "kinds": {
            kind: {
                "about": ABOUT[kind],
                "claim": CLAIMS[kind],
                "full": f"{family_of(kind)} ({estimand})",
            }
            for kind, estimand in ESTIMANDS.items()
        },
        "verdicts": VERDICT_NAMES,
        "prefix": PREFIX,
        "others": OTHERS,
        "methods": list(names),
        "reference": [name in of_release for name in names],
        "chosen": [names.index(name) for name in chosen],
        "sets": sets,
        "conclusive": _conclusive(chosen_reports, levels, of_release),
        "ladders": [_ladder(ladder, levels) for ladder in ladders if ladder.by_method],
        "queries": queries,
    }


def _opening(summary: Summary) -> Values:
    """Choose the comparison on which the page opens: the clearest of the summary."""
    method, versus, where = next(iter(summary.methods), None), None, None
    if clearest := rows.clearest(summary):
        task_set, comparison = clearest
        method, versus, where = comparison.method, comparison.versus, str(task_set.scored)
    sets = [str(primary.scored) for primary in summary.primary]
    return {"method": method, "versus": versus, "set": where, "sets": sets}


def _summary_values(level: float, summary: Summary) -> Values:
    """Return the sentences and table of a summary with at most :data:`MOST_METHODS` methods."""
    cut = replace(summary, methods=summary.methods[:MOST_METHODS])
    (table,), _, sentences = summary_paper(cut)
    more = len(summary.methods) - MOST_METHODS
    note = (f"… and {many(more, 'more method')}: fslbench score.",) if more > 0 else ()
    table = replace(table, rows=[*table.rows], notes=(*table.notes, *note))
    return {"level": level, "sentences": sentences, "table": table}


def _chosen(selected: Selected, report: Report) -> tuple[str, ...]:
    """Return the submission's methods, then references; if too many, those that rank highest."""
    ranks: dict[str, list[float]] = {}
    for task_set in report.sets:
        means = np.array([score.accuracy.mean for score in task_set.scores])
        for name, rank in zip(task_set.methods, np.argsort(np.argsort(-means)), strict=True):
            ranks.setdefault(name, []).append(float(rank) / len(means))
    chosen: list[str] = []
    for part in selected.parts:
        room = MOST_CHOSEN - len(chosen)
        answering = [name for name in part.methods if name in ranks]
        best = {*sorted(answering, key=lambda name: (np.mean(ranks[name]), name))[:room]}
        chosen += [name for name in answering if name in best]
    return tuple(chosen)


def _set(
    by_level: ByLevel, main_level: float, names: Sequence[str], chosen: Sequence[str]
) -> tuple[Values, ByLevel]:
    """Return the values of a task set, and its reports on the chosen methods alone, by level.

    Half-widths and ties are by kind of interval: `shown` are the displayed kinds, `kinds` these and
    the primary one.  Pairs are in the row order of the upper triangle; their verdicts are a text of
    signs for each claim, blank for none.
    """
    report = by_level[main_level]
    kinds = list(dict.fromkeys((*report.displayed_kinds, *report.kinds)))
    position = {method: i for i, method in enumerate(report.methods)}
    members = [method for method in chosen if method in position]
    of_members = {level: each.only(members) for level, each in by_level.items()}
    counts = of_members[main_level].counts  # shared, so that pairs are computed once
    of_members = {level: replace(each, counts=counts) for level, each in of_members.items()}
    main = of_members[main_level]
    correct = [row[:n] for row, n in zip(counts.correct, counts.tasks, strict=True)]
    shares = [100.0 * row / n for row, n in zip(correct, counts.queries_per_task, strict=True)]
    upper = np.triu_indices(len(members), 1)
    tasks = np.broadcast_to(main.pairs.tasks, main.requested.shape)
    values = {
        "dataset": report.scored.dataset,
        "task_set": report.scored.task_set,
        "T": report.scored.n_tasks,
        "shot": report.scored.protocol.shot,
        "kinds": kinds,
        "shown": list(report.displayed_kinds),
        "carried": report.interval_kind,
        "members": [names.index(method) for method in report.methods],
        "tasks": [int(score.accuracy.tasks) for score in report.scores],
        "mean": [score.accuracy.mean for score in report.scores],
        "prefix": [score.prefix for score in report.scores],
        "chosen": [position[method] for method in members],
        "unit": counts.queries_per_task.tolist(),
        "counts": [row.tolist() for row in correct],
        "r": _correlations(shares, upper),
        "pair_tasks": tasks[upper].tolist(),
        "diff": _json_numbers(main.pairs.difference[upper]),
        "at": {
            str(level): _at_level(by_level[level], of_members[level], kinds, upper)
            for level in by_level
        },
    }
    return values, of_members


def _correlations(shares: Sequence[Floats], upper: Upper) -> list[str]:
    """Return Pearson's correlations of pairs over the tasks that both answered, as text."""
    pairs = list(zip(*upper, strict=True))
    if len({*map(len, shares)}) > 1 or len(shares[0]) < 2:
        return [
            rows.correlation(shares[i][: len(shares[j])], shares[j][: len(shares[i])])
            for i, j in pairs
        ]
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.atleast_2d(np.corrcoef(shares))  # all pairs at once
    constant = np.ptp(shares, axis=1) == 0
    return ["undefined" if constant[i] or constant[j] else f"{r[i, j]:z.2f}" for i, j in pairs]


def _at_level(
    report: TaskSetReport, of_members: TaskSetReport, kinds: Sequence[IntervalKind], upper: Upper
) -> Values:
    """Return what depends on the level; pairs are those of the chosen methods."""
    ties, position = report.ties, {method: i for i, method in enumerate(report.methods)}
    unjudged = np.flatnonzero((of_members.of_stopped | of_members.of_prefix)[upper]).tolist()
    reasons = {str(k): of_members.reason(int(upper[0][k]), int(upper[1][k])) for k in unjudged}
    note = "None of this is about new images." if report.displayed_kinds[0] == "closed" else ""
    if report.design is not None:
        note = unseen_text(report.design.classes, report.level)
    return {
        "note": note,
        "half": {
            kind: [getattr(s.intervals.get(kind), "halfwidth", None) for s in report.scores]
            for kind in kinds
        },
        "contest": [position[name] for name in ties.methods] if ties else [],
        "tied": {
            kind: [position[name] for name in tied]
            for kind, tied in (ties.tied.items() if ties else ())
        },
        "pairs": {
            kind: _json_numbers(of_members.pairs_of(kind).halfwidth[upper]) for kind in kinds
        },
        "claims": {
            claim: "".join(SIGNS[code] for code in codes[upper].tolist())
            for claim, codes in rows.claims_of(of_members).items()
        },
        "reason": {k: reason for k, reason in reasons.items() if reason},
    }


def _json_numbers(values: Floats) -> list[float | None]:
    """Return numbers as JSON has them, None for NaN."""
    return [None if isnan(value) else value for value in values.tolist()]


def _conclusive(
    sets: Sequence[ByLevel], levels: Sequence[float], of_release: Collection[str]
) -> dict[str, Values]:
    """Count conclusive comparisons by data set and leading kind of interval, then by level.

    If there are results, the release's methods are not compared with each other.
    """
    groups: dict[str, list[tuple[ByLevel, NDArray[np.bool_]]]] = {}
    for by_level in sets:
        report = by_level[levels[0]]
        is_own = np.array([method not in of_release for method in report.methods], np.bool_)
        counted = report.counted & (is_own[:, None] | is_own if of_release else True)
        name = f"{report.scored.dataset} {report.displayed_kinds[0]}"
        groups.setdefault(name, []).append((by_level, counted))
    figures: dict[str, Values] = {}
    for name, group in groups.items():
        sets_of, masks = zip(*group, strict=True)
        for level in levels if any(mask.any() for mask in masks) else ():
            figure = rows.conclusive([by_level[level] for by_level in sets_of], masks)
            figures.setdefault(name, {})[str(level)] = figure_values(figure)
    return figures


def _ladder(report: Ladder, levels: Sequence[float]) -> Values:
    """Return the two figures of a ladder on which some method has counts by class."""
    return {
        "name": f"{report.dataset}/{report.name}",
        "dataset": report.dataset,
        "task_set": report.task_set,
        "ladder": {str(level): figure_values(rows.ladder(report, level)) for level in levels},
        "worst": {str(level): figure_values(rows.worst(report, level)) for level in levels},
    }


def figure_values(figure: Figure, command: str = "") -> Values:
    """Return a figure's rows, title and caption, and the command that draws it."""
    about = {"title": figure.title, "caption": figure.caption, "command": command}
    return {**about, "rows": list(figure.rows)}


class Page(Struct, frozen=True):
    """The report page, one file of HTML; a notebook shows it in a frame of its own."""

    text: str

    def __repr__(self) -> str:
        return f"<Page of {len(self.text) / 1e6:.1f} MB; .write(folder)>"

    def _repr_html_(self) -> str:
        return (
            '<iframe title="fslbench report" sandbox="allow-scripts" width="100%" height="800" '
            f'srcdoc="{escape(self.text)}"></iframe>'
        )

    def write(self, folder: str | Path) -> Path:
        """Write ``index.html`` into a folder, made if necessary, and return its path.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        path = Path(folder) / INDEX
        _check_folder(path.parent)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, self.text)
        return path


def _check_folder(folder: Path) -> None:
    """Refuse a path that cannot become a folder, without making it."""
    target = folder.absolute()
    nearest = next(path for path in (target, *target.parents) if os.path.lexists(path))
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        why = "may not be written to" if nearest.is_dir() else "is no folder"
        raise OutputError(
            f"{folder} cannot be a folder: {nearest} {why}", fix="name another folder"
        )


def report_page(
    results: Sources = (),
    path: str | Path | None = None,
    release: AnyRelease = None,
    *,
    methods: Names = (),
    datasets: Names = (),
    task_sets: Names = (),
    level: float = 0.95,
    allow_unbound: bool = False,
    sweeps: Sequence[str | Path] = (),
    images: str | Path | Literal[True] | None = None,
) -> Page:
    """Make a page that shows what results allow to conclude; a notebook shows it.

    The page is one file that needs neither a server nor the network.

    Parameters
    ----------
    results, release
        One or several submissions, files or frames; none of them shows the reference methods.  The
        release of their tasks, or what :func:`fslbench_data.load_release` opens; by default the one
        inside the package.
    path
        A folder to also write ``index.html`` into.
    methods
        The page holds pairs and tasks of these; by default of at most 50: those of the results,
        then the reference methods with the highest means.
    datasets, task_sets, level, allow_unbound
        As of :func:`fslbench_data.score`.
    sweeps
        Files that ``fslbench-build query-size --format json`` wrote.
    images
        The folder of a data set's images, as of :func:`fslbench_data.evaluate`, to show its
        hardest tasks in pictures; True for those in the release, which is the default for a
        release in a folder.  The page has them as thumbnails.

    Raises
    ------
    SpecError
        If more methods are chosen than a page holds.
    SourceError
        If an image of the folder is missing, or one cannot be read.
    MissingPackageError
        With pictures, without Pillow.
    FSLBenchError
        As :func:`fslbench_data.score` does.
    """
    selection = Selection.of(methods, datasets, task_sets, level, allow_unbound=allow_unbound)
    sources = results if isinstance(results, list | tuple) else [results]
    arguments = [str(source) if isinstance(source, str | Path) else "FILE" for source in sources]
    opened = load_release(release)
    if release is not None:
        arguments += ["--release", opened.hub or opened.files.where]
    return page_of(
        results,
        opened,
        selection,
        path,
        sweeps=sweeps,
        images=images if images is None or images is True else Path(images),
        arguments=arguments,
    )


def page_of(
    results: Sources,
    release: Release,
    selection: Selection,
    folder: str | Path | None = None,
    *,
    arguments: Sequence[str] = (),
    progress: Callable[[str], object] = lambda _: None,
    **shown: Any,
) -> Page:
    """Make the page of some results and the reference methods, or of the latter alone.

    It is written into `folder`, if given, which is checked before any work.  `progress` is called
    with each next step; `shown` are other arguments of :func:`page_content`.
    """
    if folder is not None:
        _check_folder(Path(folder))
    if len(selection.methods) > MOST_CHOSEN:
        chosen = f"{len(selection.methods)} methods are chosen"
        raise SpecError(chosen, expected=f"at most {MOST_CHOSEN}")
    progress("reading and checking")
    selected = select(results, release, selection)
    given = shlex.join([*arguments, *(["--unbound"] if selection.allow_unbound else [])])
    page = Page(html(page_content(selected, arguments=given, progress=progress, **shown)))
    if folder is not None:
        page.write(folder)
    return page


def html(content: Values) -> str:
    """Return the page; all content but answers and pictures is packed for its script."""
    for_script = {key: content[key] for key in content if key not in ("answers", "pictures")}
    text = msgspec.json.encode(for_script)
    packed = b64encode(gzip.compress(text, compresslevel=4, mtime=0)).decode("ascii")
    return template("render/page/templates/page.html.j2").render(**content, packed=packed)
