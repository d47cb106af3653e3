"""Draw one method's mean with four intervals: ``python docs/draw_four_intervals.py``.

Writes ``four_intervals.svg`` beside this file.  The method and its 600 tasks are those of
``examples/own_tasks.py``; the tasks that share no photo are those of the release inside the
package.  Where a reader prefers dark pages the picture is dark.
"""

from __future__ import annotations

import contextlib
import runpy
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import fslbench_data as fb
from benchmark_spec.protocol import IntervalKind
from fslbench_data.render.fonts import font_faces

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/own_tasks.py"
DATASET, METHOD, FEATURES = "groceries", "nearest_centroid", "efficientnet_lite0-pca128"
REUSED, DISJOINT = "own-5w10s7q", "open-5w10s7q"


@dataclass(frozen=True)
class Question:
    """What may be asked of a mean: the interval that answers, and what it is about.

    Attributes
    ----------
    task_set, kind
        Where the interval stands in a report.
    style
        Its class in the picture's style sheet.
    asks, rests_on
        What another experiment would draw anew, and what the answer is made of.
    """

    task_set: str
    kind: IntervalKind
    style: str
    asks: str
    rests_on: str


QUESTIONS = (
    Question(
        REUSED,
        "closed",
        "habit",
        "… other tasks of these photos?",
        "what papers print: {tasks} tasks",
    ),
    Question(
        REUSED,
        "images",
        "left",
        "… other photos of these classes?",
        "the same tasks: leave out one burst of photos",
    ),
    Question(
        REUSED,
        "classes",
        "left",
        "… other classes, with their photos?",
        "the same tasks: leave out one class",
    ),
    Question(
        DISJOINT,
        "open",
        "few",
        "… other photos, if tasks share none?",
        "{tasks} tasks; more would share photos",
    ),
)

WIDTH, LEFT, RIGHT, TOP, ROW = 780, 340, 670, 74, 58
"""Of the picture, and of the axis in it; where the first row begins, and its height."""

LOW, HIGH, STEP = 80, 100, 5
"""The axis, in per cent."""


@dataclass(frozen=True)
class Answer:
    """A question with its interval, in per cent."""

    question: Question
    tasks: int
    mean: float
    halfwidth: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.halfwidth:.2f}"


def _intervals() -> dict[str, dict[Any, Any]]:
    """Return the method's intervals on the example's tasks, and on those that share no photo."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        nearest = runpy.run_path(str(EXAMPLE))[METHOD]
        own = fb.interval("log.jsonl", class_sizes="sizes.json", groups="groups.csv")
    submission = fb.evaluate(
        lambda support, query, rng: nearest(support, query),
        name=METHOD,
        datasets=DATASET,
        task_sets=DISJOINT,
        features=FEATURES,
        trained=False,
    )
    disjoint = fb.score(submission)
    (first,) = (score for score in own.scores if score.method == METHOD)
    (last,) = (score for score in disjoint.scores if score.method == METHOD)
    return {REUSED: first.intervals, DISJOINT: last.intervals}


def answers() -> list[Answer]:
    """Return the four intervals of the method's mean.

    Raises
    ------
    ValueError
        If one of them is missing, or reaches beyond the axis.
    """
    intervals = _intervals()
    answered = []
    for question in QUESTIONS:
        interval = intervals[question.task_set][question.kind]
        if interval.halfwidth is None:
            raise ValueError(f"{METHOD} has no {question.kind} interval on {question.task_set}")
        answer = Answer(question, interval.tasks, interval.mean, interval.halfwidth)
        if not LOW <= answer.mean - answer.halfwidth < answer.mean + answer.halfwidth <= HIGH:
            raise ValueError(f"{answer} reaches beyond the axis from {LOW} to {HIGH}")
        answered.append(answer)
    return answered


def alternative(answered: Sequence[Answer]) -> str:
    """Return what the picture shows in words, for those who do not see it."""
    said = "; ".join(f"{answer.question.asks.strip('… ?')}, {answer}" for answer in answered)
    return f"Where would the mean be, in per cent, with: {said}"


def draw(answered: Sequence[Answer]) -> str:
    """Return the picture as SVG."""
    bottom = TOP + ROW * len(answered)
    shapes = [*_axis(bottom), *(line for i, a in enumerate(answered) for line in _row(i, a))]
    return _PAGE.format(
        fonts=font_faces(),
        width=WIDTH,
        height=bottom + 46,
        alternative=escape(alternative(answered)),
        method=METHOD,
        dataset=DATASET,
        middle=(LEFT + RIGHT) / 2,
        below=bottom + 36,
        shapes="\n".join(shapes),
    )


def _at(accuracy: float) -> float:
    """Return where an accuracy stands."""
    return round(LEFT + (accuracy - LOW) / (HIGH - LOW) * (RIGHT - LEFT), 1)


def _axis(bottom: int) -> Iterator[str]:
    for accuracy in range(LOW, HIGH + 1, STEP):
        x = _at(accuracy)
        yield f'<line x1="{x}" x2="{x}" y1="{TOP - 8}" y2="{bottom}" class="grid"/>'
        yield f'<text x="{x}" y="{bottom + 17}" class="middle">{accuracy}</text>'


def _row(number: int, answer: Answer) -> Iterator[str]:
    question, y = answer.question, TOP + ROW * number + 17
    low, mean, high = (_at(answer.mean + sign * answer.halfwidth) for sign in (-1, 0, 1))
    rests_on = question.rests_on.format(tasks=answer.tasks)
    yield f'<text x="16" y="{y}" class="asks">{escape(question.asks)}</text>'
    yield f'<text x="16" y="{y + 18}" class="muted">{escape(rests_on)}</text>'
    path = f"M{low} {y - 4}v16M{low} {y + 4}H{high}M{high} {y - 4}v16"
    yield f'<path d="{path}" class="{question.style}"/>'
    yield f'<circle cx="{mean}" cy="{y + 4}" r="5" class="{question.style}"/>'
    yield f'<text x="{WIDTH - 14}" y="{y + 9}" class="number">{answer}</text>'


_PAGE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
 aria-label="{alternative}">
<style>
{fonts}svg {{ --paper: #fff; --ink: #1f2328; --muted: #59636e; --grid: #dfe3e8;
 --habit: #59636e; --left: #0072b2; --few: #b34700 }}
@media (prefers-color-scheme: dark) {{
 svg {{ --paper: #14181f; --ink: #e6edf3; --muted: #a4aeb9; --grid: #343b45;
 --habit: #a4aeb9; --left: #56b4e9; --few: #f0954c }}
}}
text {{ font: 13px FSLBench Sans, Helvetica, Arial, sans-serif; fill: var(--ink) }}
.paper {{ fill: var(--paper) }} .muted {{ fill: var(--muted) }}
.title {{ font-size: 16px; font-weight: bold }} .asks {{ font-size: 14px; font-weight: bold }}
.middle {{ text-anchor: middle; fill: var(--muted) }} .number {{ text-anchor: end }}
.grid {{ stroke: var(--grid) }} path {{ fill: none; stroke-width: 3 }}
path.habit {{ stroke: var(--habit) }} circle.habit {{ fill: var(--habit) }}
path.left {{ stroke: var(--left) }} circle.left {{ fill: var(--left) }}
path.few {{ stroke: var(--few) }} circle.few {{ fill: var(--few) }}
</style>
<rect width="100%" height="100%" class="paper"/>
<text x="16" y="28" class="title">Where would the mean be with …</text>
<text x="16" y="48" class="muted">{method} on {dataset}, 5 ways, 10 shots; 95 % intervals</text>
{shapes}
<text x="{middle}" y="{below}" class="middle">accuracy, %</text>
</svg>
"""

if __name__ == "__main__":
    Path(__file__).with_name("four_intervals.svg").write_text(draw(answers()), encoding="utf-8")
