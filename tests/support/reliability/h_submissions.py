"""Submissions, names and images."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import own_logs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hostile_parquet import Parquet, with_page

from benchmark_spec.errors import CountError
from fslbench_data.cli import main
from fslbench_data.evaluation.loop import evaluate
from fslbench_data.leaderboard.labels import unique_labels
from fslbench_data.release.pictures import picture_name
from fslbench_data.render.interval_text import labels
from fslbench_data.render.latex import latex
from fslbench_data.render.table import Column, Table
from fslbench_data.sandbox.client import read_untrusted_columns
from fslbench_data.sandbox.limits import LOG_LIMITS, MIB
from fslbench_data.scoring.score import interval, score
from fslbench_data.scoring.selection import Selection
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission
from fslbench_data.submission.recorder import Recorder
from reliability import Section, World

SECTION = Section(__doc__)
attempt = SECTION.attempt

SIZES = dict.fromkeys(range(15), 60)


@attempt(
    "5,000 files, good, almost good and spoilt, judged by a second validator too "
    "(`python -m studies.checks two_validators`)"
)
def _(world: World) -> str:
    printed = world.root / "studies/checks/results/two_validators.txt"
    return printed.read_text(encoding="utf-8").splitlines()[-1].removeprefix("5,000 files: ")


def _row(**changed: object) -> dict[str, object]:
    row = {"method": "mine", "dataset": "digits", "task_set": "open-5w5s5q", "task_id": 0}
    return {**row, "n_correct": 3, "n_query": 25, **changed}


@attempt("a CSV file cut short inside a quoted cell")
def _(world: World) -> str:
    path = world.folder / "x.csv"
    path.write_text(",".join([*_row(), "class_correct"]) + '\na,digits,open-5w5s5q,0,3,25,"[1, 2')
    return f"{len(Submission.read(path).table)} rows"


@attempt("JSON Lines whose lines were joined")
def _(world: World) -> str:
    path = world.folder / "x.jsonl"
    path.write_text(" ".join(json.dumps(_row(task_id=i)) for i in range(31)))
    return f"{len(Submission.read(path).table)} rows"


@attempt("a log of tasks in Parquet that ends the process that reads it, given to `interval`")
def _(world: World) -> str:
    path = world.folder / "log.parquet"
    file = Parquet.of(pa.table(own_logs.log(tasks=7)))
    file.chunk(2)[16][1][2][1][1].append(0)  # a histogram of class_ids with a level too many
    path.write_bytes(file.build())
    return str(interval(path))


@attempt("the same of a good log, `--class-sizes` of 999,999,999 images each")
def _(world: World) -> str:
    pq.write_table(pa.table(own_logs.log(tasks=60)), world.folder / "log.parquet")
    sizes = dict.fromkeys(range(15), 999_999_999)
    return str(interval(world.folder / "log.parquet", class_sizes=sizes))


@attempt("a log of some kilobytes with a page of 1.2 GiB, read in 256 MiB", slow=True)
def _(world: World) -> str:
    path = world.folder / "log.parquet"
    path.write_bytes(with_page(pa.table(own_logs.log(tasks=7)), "n_correct", 1200 * MIB))
    limits = replace(LOG_LIMITS, memory_bytes=256 * MIB)
    return str(read_untrusted_columns(path, own_logs.ROW, limits).num_rows)


@attempt("a log beside whose columns stands one of numbers, lists and texts")
def _(world: World) -> str:
    rows = own_logs.rows(own_logs.log(methods={"a": 0.0}, tasks=200))
    plain = interval(rows, class_sizes=SIZES)
    noted = [{**row, "note": [1, {"x": "y"}, "z"][i % 3]} for i, row in enumerate(rows)]
    same = interval(noted, class_sizes=SIZES) == plain
    return "read as if it were not there" if same else "another interval"


def _frame(world: World) -> Any:
    """A good submission of two methods, as a frame of pandas."""
    pytest.importorskip("pandas")
    tasks = world.embedded.task_set("digits", "open-5w10s7q")
    both = []
    for name in ("mine", "other"):
        recorder = Recorder(name)
        recorder.add_counts(tasks, [20 + i % 9 for i in range(len(tasks))])
        both.append(recorder.submission())
    return merge(both).to_pandas()


@attempt("frames of pandas joined and shuffled, each with categories and an index of its own")
def _(world: World) -> str:
    import pandas

    frame = _frame(world)
    parts = [frame[::2].astype({"method": "category"}), frame[1::2]]
    joined = pandas.concat(parts).sample(frac=1, random_state=0)
    same = score(joined, world.embedded) == score(frame, world.embedded)
    return "scored as the one frame is" if same else "other scores"


@attempt("a frame with NaN in place of a count")
def _(world: World) -> str:
    frame = _frame(world).astype({"n_correct": float})
    frame.loc[16, "n_correct"] = float("nan")
    try:
        return str(score(frame, world.embedded))
    except CountError as error:
        return f"`CountError`: {error.what}; {error.where}"


def _submission(name: str, world: World) -> Path:
    recorder = Recorder(name)
    tasks = world.embedded.task_set("digits", "open-5w10s7q")
    recorder.add_counts(tasks, [20 + i % 9 for i in range(len(tasks))])
    recorder.submission().write(world.folder / "x.parquet")
    return world.folder / "x.parquet"


@attempt("`validate --recognise` of a method called `[/]`, on a terminal")
def _(world: World) -> str:
    path = _submission("[/]", world)
    result = CliRunner(env={"FORCE_COLOR": "1"}).invoke(
        main, ["validate", "--recognise", str(path)]
    )
    return f"exit code {result.exit_code}; {result.stdout.split(', bound')[0]}"


@attempt("a method called `a;=1+1`, whose CSV a spreadsheet parts at semicolons")
def _(world: World) -> str:
    return str(_submission("a;=1+1", world))


@attempt("the row of `α-TIM` in a LaTeX table, and what stands above a table with `Метод`")
def _(world: World) -> str:
    text = latex([Table("", (Column("method", str),), ("α-TIM", "Метод"))], "")
    row = next(line for line in text.splitlines() if "TIM" in line)
    return f"`{row}`; `{text.split(chr(10) * 2)[1]}`"


@attempt("a method called `mine †`, as if it were marked")
def _(world: World) -> str:
    return str(_submission("mine †", world))


@attempt("leaderboard entries called `pixels/NCC.`, `pixels//NCC`, `p1xels/NCC` and `pixels/NCC2`")
def _(world: World) -> str:
    names = ["pixels/NCC.", "pixels//NCC", "p1xels/NCC", "pixels/NCC2"]
    digests = [f"{i}" * 64 for i in range(1, 5)]
    return ", ".join(unique_labels(list(zip(names, digests, strict=True)), world.embedded.methods))


IN_A_BROWSER = """
import sys
from playwright.sync_api import sync_playwright

with sync_playwright() as api:
    browser = api.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
    tab, errors = browser.new_page(), []
    tab.set_default_timeout(120_000)
    tab.on("pageerror", lambda error: errors.append(error))
    tab.on("console", lambda said: said.type in ("error", "warning") and errors.append(said))
    tab.goto(sys.argv[2])
    tab.wait_for_function("document.documentElement.dataset.ready === 'yes'")
    for field, name in zip("aabab", ("__proto__", "mine", "__proto__", "__proto__", "mine")):
        tab.select_option("#" + field, name)
        tab.evaluate("window.fslbench.finished")
    print(len(errors), "errors")
"""


@attempt("a method called `__proto__`, chosen on a report page and chosen again", slow=True)
def _(world: World) -> str:
    for package in ("playwright", "altair", "vl_convert"):
        pytest.importorskip(package)
    from fslbench_data.render.page.make import make_page

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("chromium is not installed")
    files = []
    for name in ("mine", "__proto__"):
        recorder = Recorder(name)
        for step in ("random", "support", "intra", "inter", "biased"):
            info = world.embedded.task_set_info("openclipart", f"open_{step}_titles-5w5s5q")
            recorder.add_counts(info, [len(name) + i % 7 for i in range(info.n_tasks)])
        files.append(world.folder / f"{name}.parquet")
        recorder.submission().write(files[-1])
    chosen = Selection(datasets=("openclipart",), references=False)
    page = make_page(files, world.embedded, world.folder / "page", chosen).as_uri()
    done = subprocess.run(
        [sys.executable, "-c", IN_A_BROWSER, chromium, f"{page}#dataset=openclipart"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return f"{done.stdout.strip()} of the page's scripts"


@attempt("a transductive method's file joined to another by pandas, metadata lost")
def _(world: World) -> str:
    recorder = Recorder("mine", transductive=True)
    tasks = world.embedded.task_set("digits", "open-5w10s7q")
    recorder.add_counts(tasks, [20 + i % 9 for i in range(len(tasks))])
    lost = recorder.submission().table
    both = pa.concat_tables([lost, _other(lost)], promote_options="default")
    prints = pa.repeat(tasks.info.fingerprint, len(both))
    found = score(Submission(both.append_column("fingerprint", prints)), world.embedded)
    return ", ".join(labels(found.scores)[name] for name in ("mine", "other"))


def _other(table: pa.Table) -> pa.Table:
    """The same rows of another method, which says nothing of itself."""
    names = pa.repeat("other", len(table)).cast(table.schema.field("method").type)
    return table.set_column(0, "method", names).drop_columns(["transductive"])


@attempt("a method that looks at the names of its images only")
def _(world: World) -> str:
    folder = world.folder / "pictures"
    folder.mkdir()
    for i in range(len(world.embedded.images("digits"))):
        (folder / picture_name(i)).touch()

    def by_name(support: Any, query: Any, rng: object) -> list[int]:
        first = [int(row[0].stem, 16) for row in support]
        return [min(range(5), key=lambda k: abs(first[k] - int(q.stem, 16))) for q in query]

    found = evaluate(by_name, world.embedded, name="x", images=folder, datasets="digits",
                     task_sets="open-5w1s1q")  # fmt: skip
    right = found.table.column("n_correct").to_numpy()
    return f"{100 * right.mean() / 5:.0f} % of queries right, by chance 20 %"
