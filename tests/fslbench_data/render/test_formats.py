"""Every format: escapes, letters of LaTeX, tall tables, the same numbers and never a ±0."""

import csv
import io
import json
import math
import re
import shlex
import unicodedata
from contextlib import suppress
from operator import itemgetter

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import printed
from msgspec.structs import replace
from recorded import in_run, recorded
from typesetting import typeset

from analysis_sql.intervals.intervals import Interval
from analysis_sql.queries.engine import run_query
from benchmark_spec.errors import OutputError
from fslbench_data.cli.options import FORMATS
from fslbench_data.cli.sql import _write
from fslbench_data.release.release import load_release
from fslbench_data.render.interval_text import plus_minus
from fslbench_data.render.latex import _MATHEMATICS, beyond_pdflatex, latex, tex_of
from fslbench_data.render.report_formats import json_pieces, render_csv
from fslbench_data.render.table import Column, Table, markdown, right
from fslbench_data.scoring.score import score
from fslbench_data.scoring.sql import connect
from fslbench_data.submission.merging import merge

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
    """And of methods of any name."""
    several = "a,b;c\"d'e\\f"
    said = {several: None, "one": True, "fixed": False}
    parts = []
    rng = np.random.default_rng(0)
    tasks = load_release().task_set("digits", "open-5w5s5q")
    for name, run in ((several, "0"), (several, "1"), ("one", "0"), ("fixed", "0")):
        own = recorded(tasks, rng.binomial(25, 0.7, len(tasks)), name, trained=said[name])
        parts.append(in_run(own, run))
    path = tmp_path / "runs.parquet"
    merge(parts).write(path)
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
    alone = render_csv(score(merge(parts[:2]), references=False))
    (row, *_) = csv.DictReader(alone.splitlines()[1:])
    error = next(s["run_error"] for s in content["scores"] if s["method"] == several)
    assert (row["versus"], float(row["run_error"])) == ("", pytest.approx(error))


# ---- letters of LaTeX ----------------------------------------------------------------------------


GREEK = "αβγδεζηθικλμνξοπρςστυφχψωΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩϑϕϖϱϵ"


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
    composed = unicodedata.normalize("NFC", text)
    assert "".join(map(tex_of, composed)) == tex
    assert f"{{{tex}}}" in latex([_table(text)], "")


def test_what_pdflatex_lacks_is_told():
    text = latex([_table("Метод", "中M", "α-TIM é")], "signature of 文")
    assert "% needs lualatex, and a font that has them, for М е т о д 中\n" in text
    assert "lualatex" not in latex([_table("α-TIM", "Ünïcode ł ∞ R²")], "signature of 文")


def test_pdflatex_sets_every_letter_that_is_not_told(tmp_path):
    """All letters of Latin and Greek scripts and all signs that are mapped, one a row."""
    codes = (*range(0xA0, 0x250), *range(0x370, 0x400), *range(0x1E00, 0x2300))
    candidates = [*map(chr, codes)]
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


# ---- numbers -------------------------------------------------------------------------------------


def _counts(release, method, counts):
    return recorded(release.task_set("cats", "open-2w1s2q"), np.asarray(counts), method)


def test_what_is_said_of_methods_that_differ_by_the_same_on_every_task(toy):
    methods = {"a": [4, 4, 4, 4], "b": [3, 3, 3, 3], "c": [3, 3, 3, 3]}
    report = score(merge([_counts(toy, name, counts) for name, counts in methods.items()]), toy)
    comparisons = json.loads("".join(json_pieces(report)))["comparisons"]
    said = {(each["method"], each["versus"]): each["sentence"] for each in comparisons}
    assert said["a", "b"] == (
        "a and b differ by the same 25.00 points on each of 4 tasks, too few to conclude from; "
        "error bars would say better."
    )
    assert said["b", "c"] == "b and c answer alike: identical counts on all 4 tasks."


def test_one_task_is_a_question(toy):
    merged = merge([_counts(toy, "a", [4]), _counts(toy, "b", [3])])
    beforehand = {key: replace(b, of_release=True) for key, b in merged.bindings.items()}
    report = score(replace(merged, bindings=beforehand), toy)
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


# ---- whatever a query gives ----------------------------------------------------------------------


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
    with connect(toy) as opened:
        yield opened


def _asked(connection, sql):
    return pa.Table.from_batches(run_query(connection, sql))


def _written(table, folder):
    """The table in every format, and nothing in a text that a terminal obeys."""
    for form in EVERY:
        cannot = OutputError if form == "parquet" and OLD_ARROW else ()
        with suppress(cannot):
            _write(table, form, folder / f"x.{form}")
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
