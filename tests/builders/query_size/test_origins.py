"""Sweeps of other things than a release's features: a folder of features, and predictions."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from analysis_sql.planning.query_size import choose, estimate_set, pool
from benchmark_spec.errors import SchemaError, SourceError, SubmissionError, UnknownNameError
from builders.cli import main
from builders.query_size.sweep import QuerySets, of_folder, of_predictions, sweep
from fslbench_data.release.release import Release
from fslbench_data.submission.model import Submission
from fslbench_data.validation.per_class import class_counts

pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")


def _run(*arguments: object) -> str:
    result = CliRunner().invoke(main, ["query-size", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def _refused(*arguments: object) -> str:
    result = CliRunner().invoke(main, ["query-size", *map(str, arguments)])
    assert result.exit_code == 2
    return result.output


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An images table of the digits, and a folder of their features, as commands write them."""
    folder = tmp_path_factory.mktemp("digits")
    images, features = folder / "images.parquet", folder / "pixels"
    for command in (
        ["source", "digits", "-o", str(images)],
        ["features", "digits", "--backbone", "pixels", "-o", str(features)],
    ):
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output
    return images, features


def test_a_folder_of_features_says_what_the_release_says(
    embedded: Release, folders: tuple[Path, Path]
) -> None:
    """The digits' pixels are exact, so that everything but the origin is equal."""
    of_release = QuerySets.of(embedded, "digits", "pixels", "NCC", way=5, shot=5, suite="open")
    sets = of_folder(*folders, "NCC", way=5, shot=5, suite="open")
    assert (sets.draws.dataset, sets.method) == ("digits", "pixels/NCC")
    first, second = (sweep(s, [2, 5], seeds=2) for s in (sets, of_release))
    assert (first.rows, first.choice) == (second.rows, second.choice)
    images, features = folders
    content = json.loads(
        _run("--images", images, "--features", features, "--shot", 5, "--queries", "2,5",
             "--seeds", 2, "--format", "json")
    )  # fmt: skip
    assert content["choice"]["best"] == first.choice.best
    assert content["origin"] == "images.parquet and pixels"


def test_of_other_images_or_none(folders: tuple[Path, Path], tmp_path: Path) -> None:
    images, features = folders
    table = pq.read_table(images)

    def ask(path: Path, **changes: str) -> QuerySets:
        return of_folder(path, features, "NCC", way=5, shot=5, suite="open", **changes)

    fewer, reordered = tmp_path / "fewer.parquet", tmp_path / "reordered.parquet"
    pq.write_table(table.slice(0, 1000), fewer)
    pq.write_table(table.take(np.arange(len(table))[::-1]), reordered)
    with pytest.raises(SourceError, match="of other images than"):
        ask(fewer)
    with pytest.raises(SchemaError, match="in the order of their ids"):
        ask(reordered)
    with pytest.raises(SourceError, match=r"cannot be read(.|\n)*source NAME"):
        ask(tmp_path / "none.parquet")
    with pytest.raises(UnknownNameError, match="data set"):
        ask(images, dataset="cub")


@pytest.fixture(scope="module")
def reference(embedded: Release) -> Submission:
    """The nearest class mean's results on the digits, under another name."""
    found = next(s for s in embedded.references() if "pixels/NCC" in s.methods)
    bindings = {("mine", *key[1:]): value for key, value in found.bindings.items()}
    names = pa.array(["mine"] * len(found.table))
    table = found.table.set_column(found.table.schema.get_field_index("method"), "method", names)
    return Submission(table, {"mine": found.methods["pixels/NCC"]}, bindings)


def test_predictions_say_what_their_counts_say(embedded: Release, reference: Submission) -> None:
    found = of_predictions(reference, embedded, "digits", way=5, shot=5, seeds=3)
    rows = reference.table.filter(
        [
            (r["dataset"], r["task_set"]) == ("digits", "open-5w5s5q")
            for r in reference.table.to_pylist()
        ]
    )
    counts = class_counts(rows, embedded.task_set("digits", "open-5w5s5q"))
    assert counts is not None
    estimate = pool([[estimate_set(counts, 5)]], 5)
    assert found.estimate == estimate
    sets = QuerySets.of(embedded, "digits", "pixels", "NCC", way=5, shot=5, suite="open")
    tasks = {query: [sets.draws.tasks(query, seed) for seed in range(3)] for query in range(1, 31)}
    assert found.choice == choose(estimate, 5, tasks)
    assert [(row.query, row.observed is None) for row in found.rows] == [
        (1, True), (5, False), (7, True),
    ]  # fmt: skip


def test_predictions_that_say_nothing(embedded: Release, reference: Submission) -> None:
    with pytest.raises(
        SubmissionError, match=r"no results on digits that(.|\n)*at least 2 queries"
    ):
        of_predictions(reference, embedded, "digits", way=5, shot=1)  # its Q is 1
    with pytest.raises(UnknownNameError, match="method"):
        of_predictions(reference, embedded, "digits", method="other", way=5, shot=5)


def test_several_runs_are_refused(embedded: Release, reference: Submission) -> None:
    rows = reference.table
    parts = [rows.append_column("run", pa.array([run] * rows.num_rows)) for run in "12"]
    runs = Submission(pa.concat_tables(parts), reference.methods, reference.bindings)
    with pytest.raises(SubmissionError, match=r"has 2 runs on digits[\s\S]*one of the runs"):
        of_predictions(runs, embedded, "digits", way=5, shot=5)


def test_the_command_takes_predictions(
    embedded: Release, reference: Submission, tmp_path: Path
) -> None:
    path = tmp_path / "mine.parquet"
    reference.write(path)
    text = _run("--predictions", path, "--dataset", "digits", "--shot", 5)
    assert "Q* = " in text
    assert "from 1 seed, 1 task sets" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dataset", "digits"], "give --features"),
        (["--features", "pixels"], "give --dataset"),
        (["--predictions", "a.csv", "--features", "pixels"], "--predictions takes no"),
        (["--predictions", "a.csv", "--dataset", "d", "--parts", "20"], "--predictions takes no"),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], said: str) -> None:
    assert said in _refused(*arguments, "--shot", 5)
