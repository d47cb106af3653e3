"""The report page: what it shows, and ``fslbench report`` and ``report_page()``, which make it."""

from __future__ import annotations

import gzip
import os
import shlex
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from html import escape
from math import isnan
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from analysis_sql.comparison.verdicts import VERDICTS
from analysis_sql.interval_kinds import ABOUT, ESTIMANDS, family_of
from benchmark_spec.errors import OutputError, SpecError, many
from benchmark_spec.protocol import IntervalKind
from fslbench_data.files import write_whole
from fslbench_data.release.release import Release, load_release
from fslbench_data.render.figures import rows
from fslbench_data.render.figures.charts import OTHERS, VERDICT_NAMES, Figure
from fslbench_data.render.interval_text import CLAIMS, unseen_text
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
"""Levels that can be chosen on a page, and the one it was made with."""

MOST_METHODS = MOST_ANSWERED = 50
"""Methods of the results in a summary's table, at most; of more only the main level has one."""

Values = dict[str, Any]
Floats = NDArray[np.float64]
ByLevel = Mapping[float, TaskSetReport]
Upper = tuple[NDArray[Any], NDArray[Any]]
"""Rows and columns of the pairs."""

SIGNS = {-1: " ", **{i: verdict.value for i, verdict in enumerate(VERDICTS)}}
"""Of verdicts; blank where there is none."""


def page_content(
    selected: Selected,
    *,
    sweeps: Sequence[str | Path] = (),
    images: Images = None,
    arguments: str = "",
    progress: Callable[[str], object] = lambda _: None,
) -> Values:
    """Return a page's content: its template has ``answers`` and ``pictures``, its script the rest.

    The page opens at the level of `selected`, and holds pairs and tasks of its methods; by default
    of those of the submission, then of the reference methods with the highest means,
    :data:`MOST_CHOSEN` in all.  The commands on it have `arguments`: files and release as the
    command line names them.
    """
    ladders: Sequence[Ladder] = ()
    if selected.left_out or any(info.name.attributes for info in selected.infos):
        progress("task sets made with attributes")
        ladders = bias_on(selected.on_ladders()).ladders
    queries = None
    if sweeps:  # a figure which no choice on the page changes
        files = [part for sweep in sweeps for part in ("--sweep", str(sweep))]
        command = shlex.join(["fslbench", "plot", "queries", *files, "-o", "queries.pdf"])
        queries = figure_values(rows.queries(sweeps), command)
    level = selected.selection.level
    levels = sorted({*LEVELS, level})
    reports: dict[float, Report] = {}
    for each in levels:

        def at_level(task_set: str, at: str = f"{100 * each:.8g} %") -> None:
            progress(f"{at}, {task_set}")

        other = next(iter(reports.values()), None)
        reports[each] = report_on(selected, each, at_level, other)
    main = reports[level]
    answered = {method for each in main.sets for method in each.methods}
    names = tuple(name for name in selected.methods if name in answered)
    requested = selected.selection.methods or _chosen(selected, main)
    chosen = tuple(name for name in requested if name in answered)
    indices = [i for i, each in enumerate(main.sets) if {*chosen} & {*each.methods}]
    if not indices:
        raise no_results(requested, selected)
    progress("what the page holds")
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # more threads wait for each other
        by_level = [{at: reports[at].sets[i] for at in levels} for i in indices]
        made = pool.map(lambda each: _set(each, level, names, chosen), by_level)
        sets, some = zip(*made, strict=True)
    of_release = set(selected.references.methods) if selected.references else set()
    few = max(len(each.requested) for each in main.sets) <= MOST_ANSWERED  # more have many pairs
    summaries = {at: summarize(report) for at, report in reports.items() if few or at == level}
    opens = _opening(summaries[level])
    progress("pictures")
    hard = hard_tasks(selected.infos, [main.sets[i] for i in indices], chosen, ladders)
    return {
        "answers": [_summary_values(at, whole) for at, whole in summaries.items()],
        "pictures": pictures_html(selected.release, [*hard], opens["sets"], images),
        "opens": opens,
        "release": main.signature.release,
        "signature": {str(at): str(report.signature) for at, report in reports.items()},
        "unbound": bool(main.signature.unbound),
        "arguments": arguments,
        "level": level,
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
        "conclusive": _conclusive(some, levels, of_release),
        "ladders": [_ladder(each, levels) for each in ladders if each.by_method],
        "queries": queries,
    }


def _opening(summary: Summary) -> Values:
    """Choose the comparison on which the page opens: the clearest of the summary."""
    method, versus, where = next(iter(summary.methods), None), None, None
    if found := rows.clearest(summary):
        each, pair = found
        method, versus, where = pair.method, pair.versus, str(each.scored)
    sets = [str(primary.scored) for primary in summary.primary]
    return {"method": method, "versus": versus, "set": where, "sets": sets}


def _summary_values(at: float, whole: Summary) -> Values:
    """Return sentences and table of a summary, of at most :data:`MOST_METHODS` methods."""
    (table,), _, sentences = summary_paper(replace(whole, methods=whole.methods[:MOST_METHODS]))
    left = len(whole.methods) - MOST_METHODS
    cut = [f"… and {many(left, 'more method')}: fslbench score."] if left > 0 else []
    table = replace(table, rows=[*table.rows], notes=(*table.notes, *cut))
    return {"level": at, "sentences": sentences, "table": table}


def _chosen(selected: Selected, report: Report) -> tuple[str, ...]:
    """Return the submission's methods, then the references, the highest means first if too many."""
    place: dict[str, list[float]] = {}
    for each in report.sets:
        means = np.array([score.accuracy.mean for score in each.scores])
        for name, rank in zip(each.methods, np.argsort(np.argsort(-means)), strict=True):
            place.setdefault(name, []).append(float(rank) / len(means))
    chosen: list[str] = []
    for part in selected.parts:
        left = MOST_CHOSEN - len(chosen)
        own = [name for name in part.methods if name in place]
        best = sorted(own, key=lambda name: (np.mean(place[name]), name))[:left]
        chosen += [name for name in own if name in set(best)]
    return tuple(chosen)


def _set(
    at: ByLevel, level: float, names: Sequence[str], chosen: Sequence[str]
) -> tuple[Values, ByLevel]:
    """Return a task set, of which `at` are the reports by level, and of the chosen methods alone.

    Half-widths and ties are by kind of interval: `shown` are the displayed kinds, and `kinds` these
    and the primary one.  `pairs` are row by row of the upper triangle, their verdicts
    a text of signs for each claim, blank where there is none.
    """
    each = at[level]
    kinds = list(dict.fromkeys((*each.displayed_kinds, *each.kinds)))
    position = {method: i for i, method in enumerate(each.methods)}
    members = [method for method in chosen if method in position]
    some = {key: report.only(members) for key, report in at.items()}
    counts = some[level].counts  # shared, so that pairs are computed once
    some = {key: replace(report, counts=counts) for key, report in some.items()}
    right = [row[:n] for row, n in zip(counts.correct, counts.tasks, strict=True)]
    shares = [100.0 * row / n for row, n in zip(right, counts.queries_per_task, strict=True)]
    upper = np.triu_indices(len(members), 1)
    tasks = np.broadcast_to(some[level].pairs.tasks, some[level].requested.shape)
    values = {
        "dataset": each.scored.dataset,
        "task_set": each.scored.task_set,
        "T": each.scored.n_tasks,
        "shot": each.scored.protocol.shot,
        "kinds": kinds,
        "shown": list(each.displayed_kinds),
        "carried": each.interval_kind,
        "members": [names.index(method) for method in each.methods],
        "tasks": [int(score.accuracy.tasks) for score in each.scores],
        "mean": [score.accuracy.mean for score in each.scores],
        "prefix": [score.prefix for score in each.scores],
        "chosen": [position[method] for method in members],
        "unit": counts.queries_per_task.tolist(),
        "counts": [row.tolist() for row in right],
        "r": _correlations(shares, upper),
        "pair_tasks": tasks[upper].tolist(),
        "diff": _json_numbers(some[level].pairs.difference[upper]),
        "at": {str(key): _at_level(at[key], some[key], kinds, upper) for key in at},
    }
    return values, some


def _correlations(shares: Sequence[Floats], upper: Upper) -> list[str]:
    """Return Pearson's correlations of pairs over the tasks that both answered, as text."""
    pairs = list(zip(*upper, strict=True))
    if len({*map(len, shares)}) > 1 or len(shares[0]) < 2:
        return [
            rows.correlation(shares[i][: len(shares[j])], shares[j][: len(shares[i])])
            for i, j in pairs
        ]
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.atleast_2d(np.corrcoef(shares))  # all pairs at once
    flat = np.ptp(shares, axis=1) == 0
    return ["undefined" if flat[i] or flat[j] else f"{found[i, j]:z.2f}" for i, j in pairs]


def _at_level(
    report: TaskSetReport, some: TaskSetReport, kinds: Sequence[IntervalKind], upper: Upper
) -> Values:
    ties, position = report.ties, {method: i for i, method in enumerate(report.methods)}
    reserved = np.flatnonzero((some.of_stopped | some.of_prefix)[upper]).tolist()
    reasons = {str(k): some.reason(int(upper[0][k]), int(upper[1][k])) for k in reserved}
    note = "None of this is about new images." if report.displayed_kinds[0] == "closed" else ""
    if report.design is not None:
        note = unseen_text(report.design.classes, report.level)
    return {
        "note": note,
        "half": {
            kind: [i and i.halfwidth for i in (s.intervals.get(kind) for s in report.scores)]
            for kind in kinds
        },
        "contest": [position[name] for name in ties.methods] if ties else [],
        "tied": {
            kind: [position[name] for name in tied]
            for kind, tied in (ties.tied.items() if ties else ())
        },
        "pairs": {kind: _json_numbers(some.pairs_of(kind).halfwidth[upper]) for kind in kinds},
        "claims": {
            claim: "".join(SIGNS[code] for code in codes[upper].tolist())
            for claim, codes in rows.claims_of(some).items()
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

    If there are methods of results, those of the release are not compared with each other.
    """
    alike: dict[str, list[tuple[ByLevel, NDArray[np.bool_]]]] = {}
    for each in sets:
        report = each[levels[0]]
        own = np.array([method not in of_release for method in report.methods], np.bool_)
        counted = report.counted & (own[:, None] | own if of_release else True)
        name = f"{report.scored.dataset} {report.displayed_kinds[0]}"
        alike.setdefault(name, []).append((each, counted))
    return {
        name: {
            str(at): figure_values(
                rows.conclusive([each[at] for each, _ in some], [counted for _, counted in some])
            )
            for at in levels
        }
        for name, some in alike.items()
        if any(counted.any() for _, counted in some)
    }


def _ladder(report: Ladder, levels: Sequence[float]) -> Values:
    """Return the two figures of a ladder on which some method has counts by class."""
    return {
        "name": f"{report.dataset}/{report.name}",
        "dataset": report.dataset,
        "task_set": report.task_set,
        **{
            draw.__name__: {str(at): figure_values(draw(report, at)) for at in levels}
            for draw in (rows.ladder, rows.worst)
        },
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
        """Write ``index.html`` into a folder, which is made if it is not there; gives its path.

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
    """Refuse, before any work and without making it, what cannot become a folder."""
    whole = folder.absolute()
    there = next(one for one in (whole, *whole.parents) if os.path.lexists(one))
    if not there.is_dir() or not os.access(there, os.W_OK):
        why = "may not be written to" if there.is_dir() else "is no folder"
        raise OutputError(f"{folder} cannot be a folder: {there} {why}", fix="name another folder")


def report_page(
    results: Sources = (),
    path: str | Path | None = None,
    release: Release | None = None,
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
        release of their tasks, by default the one inside the package.
    path
        A folder to write ``index.html`` into, too.
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
    selection = Selection.of(
        methods=methods,
        datasets=datasets,
        task_sets=task_sets,
        level=level,
        allow_unbound=allow_unbound,
    )
    several = results if isinstance(results, list | tuple) else [results]
    arguments = [str(one) if isinstance(one, str | Path) else "FILE" for one in several]
    if release is not None:
        arguments += ["--release", release.hub or release.files.where]
    arguments += ["--unbound"] if allow_unbound else []
    return page_of(
        results,
        load_release() if release is None else release,
        selection,
        path,
        sweeps=sweeps,
        images=images if images is None or images is True else Path(images),
        arguments=shlex.join(arguments),
    )


def page_of(
    results: Sources,
    release: Release,
    selection: Selection,
    folder: str | Path | None = None,
    *,
    progress: Callable[[str], object] = lambda _: None,
    **shown: Any,
) -> Page:
    """Make the page of some results and of the reference methods, or without any of these alone.

    It is written into a `folder`, if there is one, which is checked before any work.  `progress` is
    called with what is done next; for what else is `shown` see :func:`page_content`.
    """
    if folder is not None:
        _check_folder(Path(folder))
    if len(selection.methods) > MOST_CHOSEN:
        chosen = f"{len(selection.methods)} methods are chosen"
        raise SpecError(chosen, expected=f"at most {MOST_CHOSEN}")
    progress("reading and checking")
    selected = select(results, release, selection)
    page = Page(html(page_content(selected, progress=progress, **shown)))
    if folder is not None:
        page.write(folder)
    return page


def html(content: Values) -> str:
    """Return the page: answers and pictures as elements, all else packed for the page's script."""
    held = {key: content[key] for key in content if key not in ("answers", "pictures")}
    text = msgspec.json.encode(held)
    packed = b64encode(gzip.compress(text, compresslevel=4, mtime=0)).decode("ascii")
    return template("render/page/templates/page.html.j2").render(**content, packed=packed)
