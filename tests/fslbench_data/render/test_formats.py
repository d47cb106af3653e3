"""Every format and the table for a paper: escapes, letters and widths of LaTeX, and numbers."""

import csv
import io
import json
import math
import re
import shlex
import unicodedata
import warnings
from contextlib import suppress
from operator import itemgetter

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import invoke, printed
from elements import Elements
from msgspec.structs import replace
from recorded import in_run, recorded, recorded_sets
from typesetting import typeset

import fslbench_data as fb
from analysis_sql.engine import run_query
from analysis_sql.intervals.intervals import Interval
from benchmark_spec.errors import FSLBenchWarning, OutputError, SpecError, SubmissionError
from fslbench_data.cli.options import FORMATS, Output
from fslbench_data.cli.sql import _write
from fslbench_data.render.interval_text import plus_minus
from fslbench_data.render.latex import (
    _MATHEMATICS,
    TEXT,
    beyond_pdflatex,
    fitting,
    latex,
    table_width,
    tex_of,
)
from fslbench_data.render.paper import POINTS
from fslbench_data.render.report_formats import json_pieces, render_csv
from fslbench_data.render.summary_text import summary_paper
from fslbench_data.render.table import Column, Table, markdown, right
from fslbench_data.render.templating import html
from fslbench_data.scoring.summary import summarize

NASTY = Table(
    "A & B_1: 50 % of {x}",
    (Column("method", itemgetter(0)), right("n", itemgetter(1))),
    (
        ("a|b*c_d<e>", "+1.0 ± 0.5"),
        ('$x^2$ \\ ~ # "q" é', "-0.3"),
        ("dinov2-5w", "-"),
        ("![x](https://e.org) `y`", "0"),
        ("all @all #1 www.e.org &lt;", "0"),
        ("[2em] \\input{/etc/passwd}", "0"),
        ("*x ^^5cinput{x}", "0"),
    ),
    ("A note: 100 %.",),
)
GREEK = "αβγδεζηθικλμνξοπρςστυφχψωΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩϑϕϖϱϵ"
CATS = "cats/open-2w1s2q"
DOGS = "dogs/open-2w1s2q"
LONG = "efficientnet_lite0-pca128"


def test_markdown_escapes():
    assert markdown([NASTY], "a--b") == (
        "<!-- a- -b -->\n\n"
        "**A & B\\_1: 50 % of \\{x\\}**\n\n"
        "| method | n |\n| --- | ---: |\n"
        "| a\\|b\\*c\\_d\\<e\\> | +1.0 ± 0.5 |\n"
        '| \\$x^2\\$ \\\\ \\~ \\# "q" é | -0.3 |\n'
        "| dinov2-5w | - |\n"
        "| !\\[x\\](https:&#8203;//e.org) \\`y\\` | 0 |\n"
        "| all @&#8203;all \\#&#8203;1 www&#8203;.e.org \\&lt; | 0 |\n"
        "| \\[2em\\] \\\\input\\{/etc/passwd\\} | 0 |\n"
        "| \\*x ^^5cinput\\{x\\} | 0 |\n\n"
        "A note: 100 %.\n"
    )


def test_latex_escapes():
    text = latex([NASTY], "sig")
    assert text.startswith("% sig\n\n% needs \\usepackage{booktabs}\n\n\\begin{table}\n")
    assert r"\label{tab:a-b-1}" in text
    assert r"\caption{A \& B\_1: 50 \% of \{x\}. A note: 100 \%.}" in text
    assert r"a\textbar{}b*c\_d\textless{}e\textgreater{} & $+$1.0 $\pm$ 0.5 \\" in text
    assert r"\$x\textasciicircum{}2\$ \textbackslash{} \textasciitilde{} \#" in text
    assert r"dinov2-5w & $-$ \\" in text
    assert r"{[}2em{]} \textbackslash{}input\{/etc/passwd\} &" in text
    assert r"{*}x " in text
    assert r"\input" not in text
    assert "^^" not in text
    assert not re.search(r"^\s*[\[*]", text, re.MULTILINE)  # the option of the row before


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["score MINE --details", "compare MINE pixels/LR", "info", "sql 'FROM accuracies'"]
)
def test_latex_compiles(command, root, tmp_path):
    words = shlex.split(command.replace("MINE", str(root / "examples/my_results.parquet")))
    text = printed(*words, "--format", "latex") + latex([NASTY], "sig")
    typeset(tmp_path, text, r"\documentclass{article}\usepackage[T1]{fontenc}")


def test_nothing_gets_out_of_a_comment():
    table = Table("t", (Column("a", str),), ("x",), ("n\n<b>",))
    made = markdown([table], "a-->\n<script>--->", ("b\n# c",))
    assert made.startswith("<!-- a- ->")
    assert "-->" not in made.split("\n", 1)[0][:-4]
    assert "<script>" in made.split("\n", 1)[0]
    lines = latex([table], "a\n\\input{x}", ("b\n\\input{y}",)).splitlines()
    assert [line for line in lines if "input" in line] == [r"% a \input{x}", r"% b \input{y}"]


def test_csv_says_of_training_runs_what_json_says(tmp_path):
    several = "a,b;c\"d'e\\f"
    said = {several: None, "one": True, "fixed": False}
    parts = []
    rng = np.random.default_rng(0)
    tasks = fb.load_release().task_set("digits", "open-5w5s5q")
    for name, run in ((several, "0"), (several, "1"), ("one", "0"), ("fixed", "0")):
        own = recorded(tasks, rng.binomial(25, 0.7, len(tasks)), name, trained=said[name])
        parts.append(in_run(own, run))
    path = tmp_path / "runs.parquet"
    fb.merge(parts).write(path)
    content = json.loads(printed("score", str(path), "--format", "json"))
    rows = list(csv.DictReader(printed("score", str(path), "--format", "csv").splitlines()[1:]))
    trained = {score["method"]: score["trained"] for score in content["scores"]}
    assert {name: trained[name] for name in said} == said
    comparisons = {(c["method"], c["versus"]): c for c in content["comparisons"]}
    for row in rows:
        method, versus = row["method"], row["versus"]
        comparison = comparisons[method, versus]
        assert [row["trained"], row["versus_trained"]] == [
            "" if trained[name] is None else str(trained[name]) for name in (method, versus)
        ]
        told = {"": [], "method": [method], "versus": [versus], "both": [method, versus]}
        assert comparison["of_one_model"] == told[row["of_one_model"]]
        error = float(row["run_error"]) if row["run_error"] else None
        assert error == comparison["run_error"]
    assert {row["of_one_model"] for row in rows} == {"", "method", "versus"}
    assert {row[which] for row in rows for which in ("method", "versus")} > {*said}
    # a method alone: what training anew adds to its own mean
    alone = render_csv(fb.score(fb.merge(parts[:2]), references=False))
    (row, *_) = csv.DictReader(alone.splitlines()[1:])
    error = next(s["run_error"] for s in content["scores"] if s["method"] == several)
    assert (row["versus"], float(row["run_error"])) == ("", pytest.approx(error))


def _table(*names):
    return Table("", (Column("method", lambda name: name, strong=lambda name: True),), names)


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        ("α-TIM", r"$\alpha$-TIM"),
        ("ε", r"$\varepsilon$"),
        ("Ω", r"$\Omega$"),
        ("Α", r"$\mathrm{A}$"),
        ("µ", r"$\mu$"),
        ("𝛼𝐋", r"$\alpha$$L$"),
        ("ℓ₂", r"$\ell$$_{2}$"),
        ("L²", "L$^{2}$"),
        ("é", "é"),
        ("e\u0301", "é"),
        ("→", r"$\rightarrow$"),
        ("中", "中"),
    ],
)
def test_letters(text, tex):
    assert "".join(map(tex_of, unicodedata.normalize("NFC", text))) == tex
    assert f"{{{tex}}}" in latex([_table(text)], "")


def test_what_pdflatex_lacks_is_told():
    text = latex([_table("Метод", "中M", "α-TIM é")], "signature of 文")
    assert "% needs lualatex, and a font that has them, for М е т о д 中\n" in text
    assert "lualatex" not in latex([_table("α-TIM", "Ünïcode ł ∞ R²")], "signature of 文")


def test_pdflatex_sets_every_letter_that_is_not_told(tmp_path):
    """All letters of Latin and Greek scripts and all signs that are mapped, one a row."""
    candidates = [*map(chr, (*range(0xA0, 0x250), *range(0x370, 0x400), *range(0x1E00, 0x2300)))]
    candidates += [*GREEK, *_MATHEMATICS, *"𝛼𝐋𝟚"]
    found = [c for c in candidates if unicodedata.normalize("NFC", c) == c and c.isprintable()]
    good = [c for c in found if not beyond_pdflatex(tex_of(c))]
    assert set(GREEK) <= set(good)
    assert len(good) > 380
    text = latex([_table("".join(good[at : at + 40])) for at in range(0, len(good), 40)], "")
    assert "lualatex" not in text
    assert "Missing character" not in typeset(tmp_path, text)


@pytest.mark.parametrize("title", ["", "Task sets"])
def test_a_table_taller_than_a_page_goes_over_several(tmp_path, title):
    tall = replace(_table(*map(str, range(120))), title=title)
    text = latex([tall, _table(*map(str, range(50)))], "")
    assert r"\usepackage{booktabs,longtable}" in text
    assert text.count(r"\begin{longtable}") == text.count(r"\begin{table}") == 1
    assert "too large" not in typeset(tmp_path, text)


def _counts(release, method, counts):
    return recorded(release.task_set("cats", "open-2w1s2q"), np.asarray(counts), method)


def test_what_is_said_of_methods_that_differ_by_the_same_on_every_task(toy):
    methods = {"a": [4, 4, 4, 4], "b": [3, 3, 3, 3], "c": [3, 3, 3, 3]}
    merged = fb.merge([_counts(toy, *method) for method in methods.items()])
    report = fb.score(merged, toy)
    comparisons = json.loads("".join(json_pieces(report)))["comparisons"]
    said = {(each["method"], each["versus"]): each["sentence"] for each in comparisons}
    assert said["a", "b"] == (
        "a against b on cats/open-2w1s2q: +25.00 points, the same on each of 4 tasks, too few to "
        "conclude from."
    )
    assert said["b", "c"] == "b against c on cats/open-2w1s2q: the same on all 4 tasks."


def test_one_task_is_a_question(toy):
    merged = fb.merge([_counts(toy, "a", [4]), _counts(toy, "b", [3])])
    beforehand = {key: replace(b, of_release=True) for key, b in merged.bindings.items()}
    report = fb.score(replace(merged, bindings=beforehand), toy)
    row, aware = csv.DictReader(render_csv(report).splitlines()[1:])
    assert [aware[key] for key in ("interval", "diff_halfwidth", "verdict")] == [
        "class-aware", "", "?",
    ]  # fmt: skip
    assert (row["T"], row["diff"], row["diff_halfwidth"]) == ("1", "25.0", "")
    assert (row["verdict"], row["verdict_direct"], row["mean_halfwidth"]) == ("?", "?", "")


def test_no_number_is_a_negative_zero(root):
    below = Interval("open", 0.95, 9, -0.004, 0.3, False)
    assert (plus_minus(below, signed=True), plus_minus(below)) == ("+0.00 ± 0.30", "0.00 ± 0.30")
    assert str(below).startswith("0.00 ±")
    paths = [p for name in ("analysis_sql", "fslbench_data") for p in (root / name).rglob("*.py")]
    assert not [p for p in paths if re.search(r":\+\.\d|'\}\.\d", p.read_text(encoding="utf-8"))]
    # nor is a tiny width rounded to nothing
    assert plus_minus(Interval("open", 0.95, 9, 99.0, 0.0012, False)) == "99.00 ± 0.0012"
    assert plus_minus(Interval("open", 0.95, 9, 1.0, 0.3, False), signed=True) == "+1.00 ± 0.30"


EVERY = [*FORMATS, "parquet"]
ODD = [
    "MAP {DATE '99999-01-01': [1, 2]}",
    "5::VARIANT",
    "[DATE '99999-01-01', NULL]",
    "{'a': INTERVAL 1 DAY, 'b': [1.5]}",
    "[union_value(a := 1)]",
    "'nan'::DOUBLE",
    "['infinity'::FLOAT, NULL, 1]",
    "[]",
    "{'\x1b[31m': 1}",
    "chr(27) || '[31m' || chr(8238) || chr(10) || chr(7)",
    "[" * 40 + "1" + "]" * 40,
]

OLD_ARROW = int(pa.__version__.split(".")[0]) < 26
"""Whether Arrow cannot write every type of DuckDB's as Parquet."""


@pytest.fixture(scope="module")
def connection(toy):
    with fb.connect(toy) as opened:
        yield opened


def _asked(connection, sql):
    return pa.Table.from_batches(run_query(connection, sql))


def _written(table, folder):
    """The table in every format, and nothing in a text that a terminal obeys."""
    for form in EVERY:
        cannot = OutputError if form == "parquet" and OLD_ARROW else ()
        with suppress(cannot):
            _write(table, Output(form, folder / f"x.{form}"))
    for form in ("table", "markdown", "latex"):
        text = (folder / f"x.{form}").read_text("utf-8")
        assert all(c.isprintable() or c == "\n" for c in text), form
    return {form: folder / f"x.{form}" for form in EVERY}


@pytest.mark.parametrize("value", ODD)
def test_odd_values_in_every_format(connection, value, tmp_path):
    paths = _written(_asked(connection, f"SELECT {value} AS a, 1 AS b"), tmp_path)
    row = json.loads(paths["json"].read_text("utf-8"), parse_constant=pytest.fail)[0]
    assert row["b"] == 1
    cells = next(csv.DictReader(io.StringIO(paths["csv"].read_text("utf-8"), newline="")))
    exact = duckdb.sql(f"SELECT ({value})::VARCHAR").fetchall()[0][0]
    kind = pq.read_schema(paths["parquet"]).field("a").type
    if not pa.types.is_nested(kind):
        assert cells["a"] == (exact or "")
        assert row["a"] is None if exact is None else str(row["a"]) == exact


def test_every_type_that_duckdb_has(connection, tmp_path):
    """Its own table of all types, with their smallest and largest values."""
    sql = "FROM test_all_types()"
    table = _asked(connection, sql)
    assert table.column_names == duckdb.sql(sql).columns
    assert table.num_rows == 3
    paths = _written(table, tmp_path)
    rows = json.loads(paths["json"].read_text("utf-8"), parse_constant=pytest.fail)
    cells = csv.DictReader(io.StringIO(paths["csv"].read_text("utf-8"), newline=""))
    texts = duckdb.sql(f"SELECT COLUMNS(*)::VARCHAR {sql}").fetchall()
    for row, line, text in zip(rows, cells, texts, strict=True):
        for (name, value), exact in zip(row.items(), text, strict=True):
            if isinstance(value, str):
                assert value == line[name] == exact, name
            elif isinstance(value, int) and not isinstance(value, bool):
                assert str(value) == line[name] == exact, name
            elif isinstance(value, float):
                assert math.isclose(value, float(exact), rel_tol=1e-6), name
            else:
                assert (value is None) == (exact is None), name


def test_order_is_kept_where_values_become_texts(connection):
    sql = (
        "SELECT DATE '2000-01-01' + ((i * 7919) % 200003)::INT AS day, (i * 7919) % 200003 AS n "
        "FROM range(200003) AS t(i) ORDER BY n"
    )
    table = _asked(connection, sql)
    assert table["n"].to_pylist() == list(range(200003))
    assert table["day"][0].as_py() == "2000-01-01"


@pytest.fixture(scope="module")
def three(toy):
    """Of 4 queries a task: means 100, 81.25 and 18.75 %."""
    counts = {
        "best": {CATS: [4, 4, 4, 4], DOGS: [4, 3, 4, 3]},
        "near": {CATS: [4, 3, 4, 2]},
        "looker": {CATS: [1, 0, 1, 1], DOGS: [0, 1, 0, 0]},
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
        assert points <= table_width(table.tables()) <= 1.15 * points, name


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
    with pytest.warns(FSLBenchWarning, match=r"a column has 230\s+fix: --width page, or "):
        replace(long, width="column").latex()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        long.latex()  # a page has room
    with pytest.warns(FSLBenchWarning, match=r"a page has 469\s+fix: shorter names"):
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
        assert first.texts(parts[0]) + second.texts(parts[1])[1:] == whole.texts(row)
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
