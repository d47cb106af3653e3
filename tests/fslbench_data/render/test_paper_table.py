"""The table for a paper: numbers by hand, marks, formats, and what is refused."""

import csv
import io
import re
from pathlib import Path

import pyarrow as pa
import pytest
from commands import invoke, printed
from elements import Elements
from msgspec.structs import replace
from recorded import recorded_sets

import fslbench_data as fb
from benchmark_spec.errors import SpecError, SubmissionError
from fslbench_data.render.paper import PaperTable
from fslbench_data.render.table import Column, Table, right
from fslbench_data.render.templating import html

OPEN = "cats/open-2w1s2q"
DOGS = "dogs/open-2w1s2q"


def _results(release: fb.Release, **counts: dict[str, list[int]]) -> list[fb.Submission]:
    return [
        recorded_sets(release, answers, method, transductive=method == "looker")
        for method, answers in counts.items()
    ]


@pytest.fixture(scope="module")
def three(toy: fb.Release) -> list[fb.Submission]:
    """Of 4 queries a task: means 100, 81.25 and 18.75 %."""
    return _results(
        toy,
        best={OPEN: [4, 4, 4, 4], DOGS: [4, 3, 4, 3]},
        near={OPEN: [4, 3, 4, 2]},
        looker={OPEN: [1, 0, 1, 1], DOGS: [0, 1, 0, 0]},
    )


def _lines(table: PaperTable) -> dict[tuple[str, ...], dict[str, str]]:
    rows = csv.DictReader(io.StringIO(re.sub("^#.*\n", "", table.csv())))
    return {(row["dataset"], row["method"], row["versus"]): row for row in rows}


def test_accuracies_by_hand(three: list[fb.Submission], toy: fb.Release) -> None:
    table = fb.table(three, toy)
    best, near, far = (_lines(table)["cats", name, ""] for name in ("best", "near", "looker"))
    # 4, 3, 4, 2 of 4: sd 23.936; t(3) at 97.5 % is 3.182446
    assert float(near["mean"]) == 81.25
    assert float(near["halfwidth"]) == pytest.approx(3.182446 * 23.935678 / 2, abs=1e-5)
    assert float(best["halfwidth"]) == 0.0
    assert {row["T"] for row in (best, near, far)} == {"4"}
    assert [row["highest"] for row in (best, near, far)] == ["True", "False", "False"]
    # p by t(3): best - near 0.215; best - looker, differences 3, 4, 3, 3: t = 13, p 0.00098;
    # Holm's third and first of 3 pairs
    assert [row["not_told_apart"] for row in (best, near, far)] == ["False", "True", "False"]
    assert {row["pairs"] for row in (best, near, far)} == {"3"}
    text = table.markdown()
    assert "| method | cats 1-shot | dogs 1-shot |" in text
    assert "| best | **100.00** ‖ | **87.50 ± 22.97** |" in text
    assert r"| near | 81.25 ± 38.09 \~ | – |" in text
    assert "| looker † | 18.75 ± 19.89 | 6.25 ± 19.89 |" in text
    assert "Holm, 1 to 3 pairs a task set" in text
    assert "T = 4 tasks" in text
    assert "95 % intervals for new images (open)" in text
    assert toy.manifest.digest[:12] in text


def test_differences_by_hand(three: list[fb.Submission], toy: fb.Release) -> None:
    table = fb.table(three, toy, methods="best", against=["near", "looker"])
    near, far = (_lines(table)["cats", "best", name] for name in ("near", "looker"))
    assert (float(near["mean"]), near["verdict"]) == (18.75, "0")
    # differences 3, 4, 3, 3 of 4: mean 81.25, sd 12.5
    assert (float(far["mean"]), far["verdict"]) == (81.25, "+")
    assert float(far["halfwidth"]) == pytest.approx(3.182446 * 12.5 / 2, abs=1e-5)
    text = table.markdown()
    assert "Differences: best minus each method" in text
    assert "| looker † | **+81.25 ± 19.89** | **+81.25 ± 38.09** |" in text
    assert "not corrected for 3 comparisons" in text
    other_way = fb.table(three, toy, against="best")
    assert "Differences: each method minus best" in str(other_way)
    assert float(_lines(other_way)["cats", "near", "best"]["mean"]) == -18.75
    both = fb.table(three, toy, methods=["best", "near"], against=["looker", "near"])
    assert [row.versus for row in both.content.rows] == ["looker", "near", "looker"]
    assert "| best − near | +18.75 ± 38.09 |" in str(both)


def test_html_is_escaped_and_whole(three: list[fb.Submission], toy: fb.Release) -> None:
    nasty = "<script>a&b"
    columns = (Column("m<", str), right("n", lambda row: nasty))
    parser = Elements(html([Table(nasty, columns, ("<i>",), (nasty,))], "a-->b", (nasty,)))
    assert "script" not in parser.tags
    assert parser.texts.count(nasty) == 4
    assert {"m<", "<i>"} <= {*parser.texts}
    page = Elements(fb.table(three, toy)._repr_html_())
    assert page.tags.count("table") == page.tags.count("caption") == 1
    assert page.tags.count("td") == 3 * 3 + 1  # a row a method, and above their names
    assert "b" in page.tags
    at = page.texts.index("81.25 ± 38.09")
    assert page.texts[at + 1] == "~"


def test_refusals(three: list[fb.Submission], toy: fb.Release, root: Path) -> None:
    """Those that the command has no options for; the others are in tests/golden/commands."""
    with pytest.raises(SpecError, match="nothing that intervals are about"):
        fb.table(three, toy, kind="new tasks")  # type: ignore[arg-type]
    with pytest.raises(SubmissionError, match="nothing to compare with near"):
        fb.table(three, toy, methods="near", against="near")
    report = fb.score(root / "examples/my_results.parquet")
    with pytest.raises(SpecError, match="its own release, level"):
        fb.table(report, level=0.9)


def test_the_command_writes_what_python_makes(root: Path, tmp_path: Path) -> None:
    mine = str(root / "examples/my_results.parquet")
    table = fb.table(mine, task_sets="open-5w5s5q")
    for ending, text in {"md": table.markdown(), "tex": table.latex(), "csv": table.csv()}.items():
        path = tmp_path / f"t.{ending}"
        printed("table", mine, "--task-set", "open-5w5s5q", "-o", path)
        assert path.read_text(encoding="utf-8") == text
    assert fb.table(fb.score(mine, task_sets="open-5w5s5q")).csv() == table.csv()
    assert table.to_arrow().num_rows == 4
    assert repr(table) == "<PaperTable: 4 rows on 1 task sets>"


def test_the_network_of_the_features_is_cited(tmp_path: Path) -> None:
    info = fb.load_release().task_set_info("groceries", "open-5w5s5q")
    made = fb.Submission.from_accuracies([0.8] * 25, info, "efficientnet_lite0-pca128/x", bind=True)
    made.write(tmp_path / "net.parquet")
    cited = printed("cite", tmp_path / "net.parquet")
    assert re.findall(r"^@\w+{(.*),", cited, re.M) == [
        "fslbench", "lafargue2024oops", "klasson2019hierarchical", "weights-efficientnet_lite0",
    ]  # fmt: skip


@pytest.mark.parametrize("told", ["metadata", "column"])
def test_results_on_other_tasks_are_not_cited_as_this_release(told: str, tmp_path: Path) -> None:
    """They are refused as validate refuses them."""
    info = fb.load_release().task_set_info("digits", "open-5w5s5q")
    altered = replace(info, fingerprint="f" * 64)
    path = tmp_path / "x.parquet"
    made = fb.Submission.from_accuracies([0.8] * 31, altered, "x", bind=told == "metadata")
    if told == "column":
        prints = pa.array([altered.fingerprint] * 31)
        made = replace(made, table=made.table.append_column("fingerprint", prints))
    made.write(path)
    refused = [invoke(command, path) for command in ("cite", "validate")]
    assert refused[0].stderr == refused[1].stderr
    assert "the answers were made on other tasks than the release's" in refused[0].stderr
    assert [one.exit_code for one in refused] == [2, 2]


def test_intervals_with_all_classes_at_once_use_which_queries_were_right() -> None:
    sets = ["--task-set", "allway-10w1s1787q", "--task-set", "closed-5w5s5q"]
    said = printed("table", "--dataset", "digits", *sets)
    assert "± for new images uses which queries were right." in said
    assert "takes tasks as a whole" not in said
