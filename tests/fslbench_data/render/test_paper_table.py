"""The table for a paper: numbers by hand, marks, formats, refusals, and widths set by LaTeX."""

import csv
import io
import re
import warnings

import pyarrow as pa
import pytest
from commands import invoke, printed
from elements import Elements
from msgspec.structs import replace
from recorded import recorded_sets
from typesetting import typeset

import fslbench_data as fb
from benchmark_spec.errors import FSLBenchWarning, SpecError, SubmissionError
from fslbench_data.render.latex import TEXT, fitting, latex, table_width
from fslbench_data.render.paper import POINTS
from fslbench_data.render.summary_text import summary_paper
from fslbench_data.render.table import Column, Table, right
from fslbench_data.render.templating import html
from fslbench_data.scoring.summary import summarize

OPEN = "cats/open-2w1s2q"
DOGS = "dogs/open-2w1s2q"


@pytest.fixture(scope="module")
def three(toy):
    """Of 4 queries a task: means 100, 81.25 and 18.75 %."""
    counts = {
        "best": {OPEN: [4, 4, 4, 4], DOGS: [4, 3, 4, 3]},
        "near": {OPEN: [4, 3, 4, 2]},
        "looker": {OPEN: [1, 0, 1, 1], DOGS: [0, 1, 0, 0]},
    }
    return [recorded_sets(toy, of, n, transductive=n == "looker") for n, of in counts.items()]


def _lines(table):
    rows = csv.DictReader(io.StringIO(re.sub("^#.*\n", "", table.csv())))
    return {(row["dataset"], row["method"], row["versus"]): row for row in rows}


def test_accuracies_by_hand(three, toy):
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


def test_differences_by_hand(three, toy):
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


def test_html_is_escaped_and_whole(three, toy):
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


def test_refusals(three, toy, root):
    """Those that the command has no options for; the others are in tests/golden/commands."""
    with pytest.raises(SpecError, match="nothing that intervals are about"):
        fb.table(three, toy, kind="new tasks")
    with pytest.raises(SubmissionError, match="nothing to compare with near"):
        fb.table(three, toy, methods="near", against="near")
    report = fb.score(root / "examples/my_results.parquet")
    with pytest.raises(SpecError, match="its own release, level"):
        fb.table(report, level=0.9)


def test_the_command_writes_what_python_makes(root, tmp_path):
    mine = str(root / "examples/my_results.parquet")
    table = fb.table(mine, task_sets="open-5w5s5q")
    for ending, text in {"md": table.markdown(), "tex": table.latex(), "csv": table.csv()}.items():
        path = tmp_path / f"t.{ending}"
        printed("table", mine, "--task-set", "open-5w5s5q", "-o", path)
        assert path.read_text(encoding="utf-8") == text
    assert fb.table(fb.score(mine, task_sets="open-5w5s5q")).csv() == table.csv()
    assert table.to_arrow().num_rows == 4
    assert repr(table) == "<PaperTable: 4 rows on 1 task sets>"


def test_the_network_of_the_features_is_cited(tmp_path):
    info = fb.load_release().task_set_info("groceries", "open-5w5s5q")
    made = fb.Submission.from_accuracies([0.8] * 25, info, "efficientnet_lite0-pca128/x", bind=True)
    made.write(tmp_path / "net.parquet")
    cited = printed("cite", tmp_path / "net.parquet")
    assert re.findall(r"^@\w+{(.*),", cited, re.M) == [
        "fslbench", "lafargue2024oops", "klasson2019hierarchical", "weights-efficientnet_lite0",
    ]  # fmt: skip


def test_results_on_other_tasks_are_not_cited_as_this_release(tmp_path):
    """They are refused as validate refuses them."""
    info = fb.load_release().task_set_info("digits", "open-5w5s5q")
    altered, path = replace(info, fingerprint="f" * 64), tmp_path / "x.parquet"
    bound = fb.Submission.from_accuracies([0.8] * 31, altered, "x", bind=True)
    prints = bound.table.append_column("fingerprint", pa.array([altered.fingerprint] * 31))
    for made in (bound, replace(bound, bindings={}, table=prints)):
        made.write(path)
        refused = [invoke(command, path) for command in ("cite", "validate")]
        assert refused[0].stderr == refused[1].stderr
        assert "the answers were made on other tasks than the release's" in refused[0].stderr
        assert [one.exit_code for one in refused] == [2, 2]


def test_intervals_with_all_classes_at_once_use_which_queries_were_right():
    said = str(fb.table(datasets="digits", task_sets=["allway-10w1s1787q", "closed-5w5s5q"]))
    assert "± for new images uses which queries were right." in said
    assert "takes tasks as a whole" not in said


LONG = "efficientnet_lite0-pca128"


@pytest.fixture(scope="module")
def emoji(embedded):
    """Twelve methods of four networks, three shots of one data set."""
    sets = ["open-5w1s1q", "open-5w5s5q", "open-5w10s7q"]
    return fb.table(None, embedded, datasets="emoji", task_sets=sets)


def _named(table, names):
    content = table.content
    rows = tuple(replace(row, method=name) for row, name in zip(content.rows, names, strict=False))
    columns = tuple(replace(c, cells=c.cells[: len(rows)]) for c in content.columns)
    return replace(table, content=replace(content, rows=rows, columns=columns))


def test_what_latex_sets_fits(emoji, tmp_path):
    heads = ["NCC", "MatchingNet", "LR", "WWWW MMMM"]
    made = {"twelve": emoji, "four": _named(emoji, [f"{LONG}/{head}" for head in heads])}
    tables = {
        f"{name}, {width}": replace(table, width=width)
        for name, table in made.items()
        for width in (*POINTS, 202)
    }
    turned = replace(emoji, transposed=True)
    tables |= {"turned": turned, "turned, column": replace(turned, width="column")}
    text = ["\\typeout{A column: \\the\\columnwidth}\\typeout{A page: \\the\\textwidth}"]
    for name, table in tables.items():
        found = re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", table.latex(), re.DOTALL)
        text += [
            f"\\sbox0{{\\footnotesize\\setlength{{\\tabcolsep}}{{4pt}}{box}}}"
            f"\\typeout{{Box {name}: \\the\\wd0}}"
            for box in found
        ]
        text += [table.latex(), "\\clearpage"]
    said = typeset(tmp_path, "\n".join(text), r"\documentclass[twocolumn]{article}")
    told = re.findall(r"^(A|Box) (.*): ([\d.]+)pt$", said, re.MULTILINE)
    room = {name: float(points) for what, name, points in told if what == "A"}
    assert room == pytest.approx(POINTS)
    room[202] = 202.0
    boxes = [(name, float(points)) for what, name, points in told if what == "Box"]
    assert {name for name, _ in boxes} == {*tables}
    for name, points in boxes:
        table = tables[name]
        assert points <= room[table.width], name
        about = table_width(table.tables())
        assert points <= about <= 1.15 * points, name


def test_what_names_begin_with_is_said_once(emoji):
    alike = _named(emoji, [f"{LONG}/{head}" for head in ("NCC", "LR")])
    for text in (alike.latex().replace(r"\_", "_"), alike.markdown().replace("\\", "")):
        assert text.count(LONG) == 1
        assert f"Left out of names: {LONG}/. FSLBench" in re.sub(r"\s+", " ", text)
    assert alike.csv().count(f"{LONG}/NCC") == 3  # machines have whole names
    mixed = _named(emoji, ["mine", f"{LONG}/NCC", f"{LONG}/LR"])
    assert f"Left out of names: {LONG}/ (before NCC, LR)." in mixed.notes
    assert not any(note.startswith("Left out") for note in emoji.notes)  # of several networks
    same = _named(emoji, ["NCC", f"{LONG}/NCC", f"{LONG}/LR"])
    assert LONG in str(same.tables()[0].texts(1))  # there would be two of one name
    short = _named(emoji, ["pixels/NCC", "pixels/LR"])
    assert short.tables()[0].texts(0)[0] == "pixels/NCC"
    assert replace(short, width="column").tables()[0].texts(0)[0] == "NCC"


def test_what_fits_nowhere_is_said(emoji):
    long = _named(emoji, [f"{letter * 50}/x" for letter in "ab"])
    with pytest.warns(FSLBenchWarning, match=r"a column has 230\s+fix: --width page, --transp"):
        replace(long, width="column").latex()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        long.latex()  # a page has room
    with pytest.warns(FSLBenchWarning, match=r"a page has 469\s+fix: --transpose, fewer"):
        _named(emoji, ["W" * 60, "b"]).latex()


def test_a_label_is_that_of_the_first_float(emoji):
    assert replace(emoji, label="tab:emoji_1").latex().count(r"\label{tab:emoji_1}") == 1
    assert emoji.latex().count(r"\label{tab:accuracy}") == 1
    several = replace(emoji, label="t", width="column", content=replace(
        emoji.content, columns=emoji.content.columns * 5))  # fmt: skip
    labels = re.findall(r"\\label\{(.*?)\}", several.latex())
    assert len(labels) > 2
    assert labels == ["t", *(f"t-{n}" for n in range(2, len(labels) + 1))]
    for label in ("a b", "x}", "%", "ü"):
        with pytest.raises(SpecError, match="cannot be a label"):
            replace(emoji, label=label)
    with pytest.raises(SpecError, match="no width 'wide'"):
        replace(emoji, width="wide")


def test_a_summary_of_many_sets_is_parted_and_fits(embedded, tmp_path):
    report = fb.score(None, embedded, datasets=["emoji", "openclipart"])
    (whole,), signature, sentences = summary_paper(summarize(report))
    assert table_width([whole]) > TEXT
    first, second = fitting(whole)
    assert [first.groups[1], second.groups[1]] == [("openclipart", 3), ("emoji", 3)]
    for row, *parts in zip(whole.rows, first.rows, second.rows, strict=True):
        texts = first.texts(parts[0]) + second.texts(parts[1])[1:]
        assert texts == whole.texts(row)
    text = latex([whole], signature, sentences)
    assert not re.search("Overfull|Float too large", typeset(tmp_path, text))


@pytest.mark.parametrize(("rows", "groups"), [(3, 13), (5, 11), (50, 3), (1, 1)])
@pytest.mark.parametrize("name", ["data", "a-data-set-of-a-long-name"])
def test_tables_of_any_size_are_parted_and_fit(tmp_path, rows, groups, name):
    sizes = [1 + number % 3 for number in range(groups)]
    columns = [
        Column(f"{shot}-shot", lambda _: "73.36 ± 1.40", "right", group=f"{name} {number}")
        for number, size in enumerate(sizes)
        for shot in range(size)
    ]
    notes = ("What the marks mean, and what readers must know besides, takes some lines. " * 4,)
    first = Column("method", lambda row: f"features/method {row}")
    text = latex([Table("Accuracy", (first, *columns), range(rows), notes)], "")
    assert text.count("73.36") == rows * sum(sizes)
    assert text.count("readers must know") == 4 * text.count(r"\caption")
    assert not re.search("Overfull|Float too large", typeset(tmp_path, text))
