import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from benchmark_spec.version import __version__
from fslbench_data.cli import main
from fslbench_data.release.release import Release
from fslbench_data.submission.model import Submission


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def mine(root: Path) -> str:
    return str(root / "examples/my_results.parquet")


@pytest.fixture
def undeclared(mine: str, tmp_path: Path) -> str:
    """The same without saying that the method is inductive, which other tables may not keep."""
    results = Submission.read(mine)
    about = {name: replace(method, inductive=None) for name, method in results.methods.items()}
    replace(results, methods=about).write(path := tmp_path / "undeclared.parquet")
    return str(path)


def test_version() -> None:
    assert _run("--version").strip() == f"fslbench, version {__version__}"


def test_help_lists_the_commands() -> None:
    text = _run("--help")
    for command in ("score", "validate", "info"):
        assert command in text


def test_info_for_people(embedded: Release) -> None:
    text = _run("info", str(embedded.files.folder))
    assert "embedded@2.3.0" in text
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line}
    assert lines["digits"] == ["digits", "10", "1,797", "9", "3", "images,", "features"]
    assert lines["canaries"][3:] == ["0", "0", "images,", "features"]
    assert lines["vgg_flower"][-2:] == ["counts", "only"]
    assert lines["traffic_signs"][2] == "39,209"
    text = _run("info", str(embedded.files.folder), "--dataset", "digits")
    assert "digits: features: pixels; reference methods: pixels/NCC, MatchingNet, LR" in text
    assert "eab66a82ed61" in text


def test_choosing(mine: str) -> None:
    text = _run(
        "score", mine, "--dataset", "digits", "--task-set", "open-5w5s5q", "--task-set",
        "open-5w1s1q", "--against", "pixels/LR", "--level", "0.99", "--format", "csv",
    )  # fmt: skip
    rows = list(csv.DictReader(text.splitlines()[1:]))
    assert [(r["task_set"], r["versus"], r["level"], r["interval"]) for r in rows] == [
        (f"open-{protocol}", "pixels/LR", "0.99", interval)
        for protocol in ("5w1s1q", "5w5s5q")
        for interval in ("open", "class-aware")
    ]


def test_closed_verdicts_stay_when_only_open_sets_are_chosen(mine: str) -> None:
    text = _run("score", mine, "--task-set", "open-5w10s7q", "--format", "csv")
    rows = list(csv.DictReader(text.splitlines()[1:]))
    assert {r["verdict_closed"] for r in rows if r["interval"] == "open"} == {"+"}
    assert {r["verdict_closed"] for r in rows if r["interval"] == "class-aware"} == {""}


def test_the_installed_command(mine: str) -> None:
    """Through the real entry point: a table on standard output, no escapes, a line on stderr."""
    command = Path(sys.executable).with_name("fslbench")
    if not command.exists():
        pytest.skip("the command fslbench is not installed beside this Python")
    out = subprocess.run([command, "score", mine], capture_output=True, text=True, check=True)
    (line,) = out.stderr.splitlines()
    assert line.startswith("tip: evaluate the pooled sets (digits/pooled-5w1s1q")
    assert "\x1b" not in out.stdout
    assert "pixels/Ridge against 3 methods" in out.stdout
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    plain = subprocess.run([command, "score", mine], capture_output=True, env=ascii_only)
    assert (plain.returncode, plain.stderr.decode("ascii").strip()) == (0, line)
    bad = subprocess.run([command, "score", "nowhere.csv"], capture_output=True, text=True)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "Error: there is no file nowhere.csv\n"


def test_wide_tables_are_read_whatever_writes_them(undeclared: str, tmp_path: Path) -> None:
    """As pandas or polars would write them: large strings, wide integers, row groups."""
    import pyarrow.parquet as pq

    table = Submission.read(undeclared).table
    wide = pa.table(
        {
            name: table.column(name).cast(
                pa.large_string()
                if pa.types.is_dictionary(table.schema.field(name).type)
                else pa.int64()
            )
            for name in ("n_query", "n_correct", "task_id", "task_set", "dataset", "method")
        }
    )
    path = tmp_path / "x.parquet"
    pq.write_table(wide, path, row_group_size=100, use_dictionary=False)
    plain, whole = (
        [*csv.DictReader(_run("score", *words, "--format", "csv").splitlines()[1:])]
        for words in ((str(path), "--unbound"), (undeclared,))
    )
    for row in (*plain, *whole):  # that it trains nothing stands in the metadata alone
        for name in ("trained", "run_error", "of_one_model"):
            del row[name]
    assert plain == whole


@pytest.mark.slow
def test_a_summary_in_every_format(mine: str, tmp_path: Path) -> None:
    rows = list(
        csv.DictReader(_run("score", mine, "--summary", "--format", "csv").splitlines()[1:])
    )
    assert [row["task set"] for row in rows] == [
        "digits/open-5w1s1q",
        "digits/open-5w5s5q",
        "digits/open-5w10s7q",
        "all",
        "digits/closed-5w1s1q",
        "digits/closed-5w5s5q",
        "digits/closed-5w10s7q",
        "all that reuse images",
    ]
    new = "new classes (disjoint tasks)"
    assert {key: rows[2][key] for key in ("T", "comparisons", "paired", new)} == {
        "T": "19",
        "comparisons": "3",
        "paired": "1",
        new: "0",
    }
    new = "new images (tasks that reuse images)"
    assert (rows[6]["paired"], rows[6]["closed"], rows[6][new]) == ("", "3", "3")
    assert (rows[3]["paired"], rows[3]["closed"], rows[3]["kept"]) == ("2", "4", "0")
    content = json.loads(_run("score", mine, "--summary", "--format", "json"))
    shown = [
        {key: "" if v is None else str(v) for key, v in row.items()} for row in content["rows"]
    ]
    assert shown == [dict(row) for row in rows]
    assert content["rows"][2]["T"] == 19
    assert "all" in _run("score", mine, "--summary")
    alone = _run("score", "--summary", "--dataset", "digits", "--format", "csv")
    numbers = [row["comparisons"] for row in csv.DictReader(alone.splitlines()[1:])]
    assert numbers[:4] == ["3", "3", "3", "9"]  # of open sets; then those that reuse images
    for ending, sign in (("md", "| all |"), ("tex", "all & "), ("csv", "all,")):
        path = tmp_path / f"x.{ending}"
        CliRunner().invoke(main, ["score", mine, "--summary", "-o", str(path)])
        assert sign in path.read_text()
        rows = path.read_text(encoding="utf-8").partition(" kept: claimed")[0]
        assert "–" not in rows  # each table has its own columns
    written = (tmp_path / "x.md").read_text(encoding="utf-8")
    assert "| digits/closed-5w10s7q | 600 | 3 | 3 | 0 | 3 | 0 |" in written
    assert "| new superclasses |" not in written  # digits have none
    assert "digits/closed-5w10s7q & 600 & 3 & 3 & 0 &" in (tmp_path / "x.tex").read_text()
