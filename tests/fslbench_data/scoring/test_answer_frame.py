"""The comparisons of a report's answer as a table, a row each."""

from pathlib import Path

import pytest
from golden_inputs import INPUTS

import fslbench_data as fb
from fslbench_data.scoring.answer_frame import ANSWER, STANDINGS
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.summary import Mark, summarize


@pytest.fixture(scope="module")
def one(embedded, example) -> Report:
    return fb.score(example, embedded)


@pytest.fixture(scope="module")
def several(embedded, tmp_path_factory: pytest.TempPathFactory) -> Report:
    path: Path = tmp_path_factory.mktemp("results") / "prefix.parquet"
    INPUTS["prefix.parquet"](path)
    return fb.score(path, embedded)


def test_a_single_method_has_a_row_for_each_that_it_meets(one: Report) -> None:
    table = one.to_arrow()
    assert table.schema == ANSWER
    rows = table.to_pylist()
    met = [(row, c) for row in summarize(one).rows for c in row.compared]
    assert len(rows) == len(met) == 9
    for values, (row, c) in zip(rows, met, strict=True):
        protocol = row.primary.name.protocol
        assert (values["way"], values["shot"]) == (protocol.way, protocol.shot)
        assert (values["dataset"], values["task_set"]) == (c.dataset, c.task_set)
        assert (values["method"], values["versus"]) == (c.method, c.versus)
        assert values["interval"] == "images"
        assert (values["accuracy"], values["accuracy_halfwidth"]) == (c.mean.mean, c.mean.halfwidth)
        assert values["versus_accuracy"] == c.versus_mean.mean
        assert values["difference"] == pytest.approx(values["accuracy"] - values["versus_accuracy"])
        assert values["difference_halfwidth"] == c.difference.halfwidth
        assert (values["tasks"], values["level"]) == (600, 0.95)
        shown = abs(values["difference"]) > values["difference_halfwidth"]
        assert shown == (values["verdict_new_images"] in "+-")
        assert values["verdict_new_classes"] == c.intervals["classes"].verdict
        assert values["verdict_these_images"] is values["standing"] is None
    assert {"+", "0"} <= {values["verdict_new_images"] for values in rows}


def test_several_methods_are_compared_with_the_best(several: Report) -> None:
    rows = several.to_arrow().to_pylist()
    by_set = {column.primary.scored: column for column in summarize(several).columns}
    assert len(rows) == sum(len(column.by_method) for column in by_set.values())
    for scored, column in by_set.items():
        best = next(n for n, s in column.by_method.items() if s.mark is Mark.HIGHEST)
        each = next(some for some in several.sets if some.scored == scored)
        of_set = [r for r in rows if f"{r['dataset']}/{r['task_set']}" == str(scored)]
        assert [r["method"] for r in of_set] == [*column.by_method]
        for values in of_set:
            name = values["method"]
            assert values["standing"] == STANDINGS[column.by_method[name].mark]
            if name == best:
                assert values["versus"] is values["difference"] is None
                assert values["accuracy"] == column.by_method[name].score.accuracy.mean
                continue
            (comparison,) = each.only([name, best]).comparisons  # from the method's own side
            c = comparison.shown
            assert (values["versus"], values["difference"]) == (best, c.difference.mean)
            widths = values["difference_halfwidth"], c.difference.halfwidth
            assert widths == (None, None) or widths[0] == pytest.approx(widths[1], rel=1e-9)
            assert (values["accuracy"], values["tasks"]) == (c.mean.mean, c.difference.tasks)
            assert (values["verdict_new_images"], values["reason"]) == (c.verdict, c.reason)
    assert {"highest", "not judged", "told apart for new images"} <= {r["standing"] for r in rows}
    assert {"-", "?"} <= {r["verdict_new_images"] for r in rows}


def test_frames_hold_the_same(one: Report) -> None:
    pandas = pytest.importorskip("pandas")
    frame = one.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert [*frame.columns] == ANSWER.names
    assert frame["difference"].tolist() == one.to_arrow().column("difference").to_pylist()
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(one).columns == ANSWER.names
