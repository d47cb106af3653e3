"""Files that are nearly another kind of results: what the error says to do about them."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import fslbench_data as fb
from benchmark_spec.errors import FSLBenchError
from fslbench_data.cli import main

COMMAS = "separate the columns by commas"


@pytest.mark.parametrize(
    ("name", "text", "fix"),
    [
        ("semi.csv", "method;task;class_ids\na;0;[1, 2]\n", COMMAS),
        ("tabs.csv", "method\ttask_set\na\topen\n", COMMAS),
        ("log.jsonl", '{"method": "a", "classes": [1], "query_ids": [[1]]}\n', "column class_ids"),
        ("all.csv", "method,draw,image,class,pred\na,0,0,1,1\n", "image, class, predicted"),
    ],
)
def test_the_fix_is_of_the_kind_that_was_meant(
    name: str, text: str, fix: str, tmp_path: Path
) -> None:
    (path := tmp_path / name).write_text(text)
    with pytest.raises(FSLBenchError) as caught:
        fb.score(path)
    assert fix in str(caught.value.fix)


def test_printed_results_that_are_separated_otherwise(tmp_path: Path) -> None:
    (path := tmp_path / "table.csv").write_text("method;result\na;57.6 ± 0.3\n")
    with pytest.raises(FSLBenchError) as caught:
        fb.reported(path)
    assert caught.value.fix == COMMAS
    assert "'method;result'" in caught.value.where


def test_sizes_of_a_file_that_is_no_log(tmp_path: Path) -> None:
    (path := tmp_path / "log.jsonl").write_text('{"method": "a", "classes": [1]}\n')
    said = CliRunner().invoke(main, ["score", str(path), "--class-sizes", "CUB"]).output
    assert f"class_ids, a column that {path} has not" in " ".join(said.split())
