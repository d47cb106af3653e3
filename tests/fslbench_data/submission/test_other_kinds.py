"""Files that are nearly another kind of results: what the error says to do about them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from commands import invoke

import fslbench_data as fb
from benchmark_spec.errors import FSLBenchError

COMMAS = "separate the columns by commas"


@pytest.mark.parametrize(
    ("read", "name", "text", "fix"),
    [
        (fb.score, "semi.csv", "method;task;class_ids\na;0;[1, 2]\n", COMMAS),
        (fb.score, "tabs.csv", "method\ttask_set\na\topen\n", COMMAS),
        (
            fb.score,
            "log.jsonl",
            '{"method": "a", "classes": [1], "query_ids": [[1]]}\n',
            "class_ids",
        ),
        (
            fb.score,
            "all.csv",
            "method,draw,image,class,pred\na,0,0,1,1\n",
            "image, class, predicted",
        ),
        (fb.reported, "table.csv", "method;result\na;57.6 ± 0.3\n", COMMAS),
    ],
)
def test_the_fix_is_of_the_kind_that_was_meant(
    read: Callable[[Path], object], name: str, text: str, fix: str, tmp_path: Path
) -> None:
    (path := tmp_path / name).write_text(text)
    with pytest.raises(FSLBenchError) as caught:
        read(path)
    assert fix in str(caught.value.fix)


def test_sizes_of_a_file_that_is_no_log(tmp_path: Path) -> None:
    (path := tmp_path / "log.jsonl").write_text('{"method": "a", "classes": [1]}\n')
    said = invoke("score", path, "--class-sizes", "CUB").output
    assert f"class_ids, a column that {path} has not" in " ".join(said.split())
