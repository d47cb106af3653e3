"""Tables for papers fit the column or the page of an article in two columns, measured by LaTeX."""

import re
import warnings
from pathlib import Path

import pytest
from msgspec.structs import replace
from typesetting import typeset

import fslbench_data as fb
from benchmark_spec.errors import FSLBenchWarning, SpecError
from fslbench_data.render.latex import TEXT, fitting, latex, table_width
from fslbench_data.render.paper import POINTS, PaperTable
from fslbench_data.render.summary_text import summary_paper
from fslbench_data.render.table import Column, Table
from fslbench_data.scoring.summary import summarize

LONG = "efficientnet_lite0-pca128"


@pytest.fixture(scope="module")
def emoji(embedded: fb.Release) -> PaperTable:
    """Twelve methods of four networks, three shots of one data set."""
    sets = ["open-5w1s1q", "open-5w5s5q", "open-5w10s7q"]
    return fb.table(None, embedded, datasets="emoji", task_sets=sets)


def _named(table: PaperTable, names: list[str]) -> PaperTable:
    """The first rows of a table, by other names."""
    content = table.content
    rows = tuple(replace(row, method=name) for row, name in zip(content.rows, names, strict=False))
    columns = tuple(replace(c, cells=c.cells[: len(rows)]) for c in content.columns)
    return replace(table, content=replace(content, rows=rows, columns=columns))


def _tables(emoji: PaperTable) -> dict[str, PaperTable]:
    heads = ["NCC", "MatchingNet", "LR", "WWWW MMMM"]
    made = {"twelve": emoji, "four": _named(emoji, [f"{LONG}/{head}" for head in heads])}
    both = {
        f"{name}, {width}": replace(table, width=width)
        for name, table in made.items()
        for width in (*POINTS, 202)
    }
    turned = replace(emoji, transposed=True)
    return both | {"turned": turned, "turned, column": replace(turned, width="column")}


def test_what_latex_sets_fits(emoji: PaperTable, tmp_path: Path) -> None:
    tables = _tables(emoji)
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


def test_what_names_begin_with_is_said_once(emoji: PaperTable) -> None:
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


def test_what_fits_nowhere_is_said(emoji: PaperTable) -> None:
    long = _named(emoji, [f"{letter * 50}/x" for letter in "ab"])
    with pytest.warns(FSLBenchWarning, match=r"a column has 230\s+fix: --width page, --transp"):
        replace(long, width="column").latex()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        long.latex()  # a page has room
    with pytest.warns(FSLBenchWarning, match=r"a page has 469\s+fix: --transpose, fewer"):
        _named(emoji, ["W" * 60, "b"]).latex()


def test_a_label_is_that_of_the_first_float(emoji: PaperTable) -> None:
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
        replace(emoji, width="wide")  # type: ignore[arg-type]


def test_a_summary_of_many_sets_is_parted_and_fits(embedded: fb.Release, tmp_path: Path) -> None:
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
def test_tables_of_any_size_are_parted_and_fit(
    tmp_path: Path, rows: int, groups: int, name: str
) -> None:
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
