"""What the report page shows, as plain values that its script reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.interval_kinds import ABOUT, ESTIMANDS, family_of
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.suites import IntervalKind
from benchmark_spec.version import __version__
from fslbench_data.render.csv_format import COLUMNS
from fslbench_data.render.figures.claims import CLAIMS, halfwidth
from fslbench_data.render.figures.rows import Figure
from fslbench_data.render.figures.style import VERDICT_NAMES
from fslbench_data.render.latex import TEX, tex_of
from fslbench_data.render.latex_letters import beyond_pdflatex, composed
from fslbench_data.render.limits_text import unseen_text
from fslbench_data.render.page.answer_html import answers_html
from fslbench_data.render.page.encoding import Encoded, counts, floats
from fslbench_data.render.page.hard_tasks import hard_tasks
from fslbench_data.render.page.ladders import page_ladders
from fslbench_data.render.page.pairs import kinds_of, pairs
from fslbench_data.render.page.pictures import Images, pictures_html
from fslbench_data.scoring.answer import Answer, answer
from fslbench_data.scoring.bias_report import LadderReport
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import no_results, report_on
from fslbench_data.scoring.scores import PREFIX
from fslbench_data.scoring.selection import Selected
from fslbench_data.scoring.task_set_report import TaskSetReport

MOST_CHOSEN = 50
"""Methods whose pairs and tasks a page holds."""

LEVELS = (0.9, 0.95, 0.99)
"""Levels that can be chosen on a page, beside the one it was made with."""

Values = dict[str, Any]


def page_content(
    selected: Selected,
    *,
    ladders: Sequence[LadderReport] = (),
    queries: Values | None = None,
    images: Images = None,
    arguments: str = "",
    progress: Callable[[str], object] = lambda _: None,
) -> Values:
    """What a page shows; ``answer`` and ``pictures`` are HTML.

    Parameters
    ----------
    selected
        At its level the page opens.  Its methods are those whose pairs and tasks the page holds; by
        default those of the submission, then the reference methods, of these the ones with the
        highest means, :data:`MOST_CHOSEN` in all.
    ladders, queries
        What there is of attribute-biased tasks, and the figure of sweeps of the number of queries
        (:func:`figure_values`).
    images
        Of the tasks that are shown in pictures
        (:func:`fslbench_data.render.page.pictures.pictures_html`).
    arguments
        Of the command that made the page, for the commands that it shows.
    progress
        Called with what is done next.

    Raises
    ------
    SubmissionError
        If none of its methods has results there.
    FSLBenchError
        As :func:`fslbench_data.render.page.pictures.pictures_html` does.
    """
    level = selected.selection.level
    levels = sorted({*LEVELS, level})
    reports = {}
    for each in levels:

        def at_level(task_set: str, at: str = f"{100 * each:.8g} %") -> None:
            progress(f"{at}, {task_set}")

        reports[each] = report_on(selected, each, at_level)
    main = reports[level]
    answered = {method for each in main.sets for method in each.methods}
    names = tuple(name for name in selected.methods if name in answered)
    asked = selected.selection.methods or _chosen(selected, main)
    chosen = tuple(name for name in asked if name in answered)
    shown = [i for i, each in enumerate(main.sets) if {*chosen} & {*each.methods}]
    if not shown:
        raise no_results(asked, selected)
    progress("what the page holds")
    with ThreadPoolExecutor() as pool:  # most of it is arithmetic on large arrays
        by_level = [{at: reports[at].sets[i] for at in levels} for i in shown]
        sets = list(pool.map(lambda each: _set(each, level, names, chosen), by_level))
    answers = _answers(reports, level)
    opens = [str(headline.scored) for headline in answers[level].headlines]
    progress("pictures")
    hard = hard_tasks(selected.infos, [main.sets[i] for i in shown], chosen, ladders)
    of_release = set(selected.references.methods) if selected.references else set()
    letters = composed("".join(names))
    return {
        "answer": answers_html(answers, level),
        "pictures": pictures_html(selected.release, [*hard], opens, images),
        "opens": {"method": next(iter(answers[level].methods), None), "sets": opens},
        "version": __version__,
        "release": main.signature.release,
        "signature": {str(at): str(report.signature) for at, report in reports.items()},
        "unbound": bool(main.signature.unbound),
        "arguments": arguments,
        "level": level,
        "levels": levels,
        "kinds": {
            kind: {
                "family": family_of(kind),
                "about": ABOUT[kind],
                "claim": CLAIMS[kind],
                "estimand": estimand,
            }
            for kind, estimand in ESTIMANDS.items()
        },
        "verdicts": VERDICT_NAMES,
        "prefix": PREFIX,
        "columns": list(COLUMNS),
        "tex": {c: tex_of(c) for c in dict.fromkeys([*TEX, *letters]) if tex_of(c) != c},
        "beyond_pdflatex": beyond_pdflatex("".join(map(tex_of, letters))),
        "methods": list(names),
        "reference": [name in of_release for name in names],
        "chosen": [names.index(name) for name in chosen],
        "files": bool(selected.references),
        "sets": sets,
        "ladders": page_ladders(ladders, levels),
        "queries": queries,
    }


MOST_ANSWERED = 50
"""Methods up to which the answer is there at every level: those of more have many pairs."""


def _answers(reports: Mapping[float, Report], level: float) -> dict[float, Answer]:
    """Answer at every level; of more than :data:`MOST_ANSWERED` methods at one alone."""
    few = max(len(each.asked) for each in reports[level].sets) <= MOST_ANSWERED
    return {at: answer(report) for at, report in reports.items() if few or at == level}


def _chosen(selected: Selected, report: Report) -> tuple[str, ...]:
    """The submission's methods, then the references, the highest means first if too many."""
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
    at: Mapping[float, TaskSetReport], level: float, names: Sequence[str], chosen: Sequence[str]
) -> Values:
    """A task set; `at` are its reports by level.

    Half-widths, verdicts and ties are by kind of interval: `shown` are those that figures lead
    with, and `kinds` these and the carried one.
    """
    each = at[level]
    kinds = kinds_of(each)
    name = TaskSetName.parse(each.scored.task_set)
    ties, contest = each.ties, each.contest
    ties_at = {} if contest is None else {key: contest.at(key) for key in at}
    position = {method: i for i, method in enumerate(each.methods)}
    members = [method for method in chosen if method in position]
    some = {key: report.only(members) for key, report in at.items()}
    return {
        "dataset": each.scored.dataset,
        "task_set": each.scored.task_set,
        "fingerprint": each.scored.fingerprint,
        "T": each.scored.n_tasks,
        "way": name.protocol.way,
        "shot": name.protocol.shot,
        "query": name.protocol.query,
        "kinds": kinds,
        "shown": list(each.shown_kinds),
        "carried": each.interval_kind,
        "unseen": {
            str(key): unseen_text(report.design.classes, report.level)
            for key, report in at.items()
            if report.design is not None
        },
        "members": [names.index(method) for method in each.methods],
        "tasks": [int(score.accuracy.tasks) for score in each.scores],
        "mean": floats(np.array([score.accuracy.mean for score in each.scores])),
        "half": {
            kind: {str(key): _halfwidths(report, kind) for key, report in at.items()}
            for kind in kinds
        },
        "contest": [position[name] for name in ties.methods] if ties else [],
        "best": position[ties.best] if ties else -1,
        "tied": {
            kind: {
                str(key): [position[name] for name in tied.tied[kind]]
                for key, tied in ties_at.items()
            }
            for kind in (ties.tied if ties else {})
        },
        "chosen": [position[method] for method in members],
        "unit": some[level].counts.queries_per_task.tolist(),
        "counts": counts(_padded(some[level].counts.correct, each.scored.n_tasks)),
        "prefix": [score.prefix for score in each.scores],
        "pairs": pairs(some),
    }


def _padded(correct: NDArray[Any], tasks: int) -> NDArray[Any]:
    """Counts (M, T): 0 for tasks that no method has answered."""
    return np.pad(correct, ((0, 0), (0, tasks - correct.shape[1])))


def _halfwidths(report: TaskSetReport, kind: IntervalKind) -> Encoded:
    """Half-widths of the methods' means (M,), by one kind of interval."""
    return floats(np.array([halfwidth(s.intervals.get(kind)) for s in report.scores], np.float64))


def figure_values(figure: Figure, command: str) -> Values:
    """A figure that stays as it is, and the command that draws it."""
    about = {"title": figure.title, "caption": figure.caption, "command": command}
    return {**about, "rows": list(figure.rows)}
