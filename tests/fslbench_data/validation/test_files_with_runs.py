"""Files of which only one has a column `run`, read together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from benchmark_spec.errors import DoubledTaskError
from fslbench_data.cli import main
from fslbench_data.release.release import Release
from fslbench_data.scoring.score import score
from fslbench_data.scoring.sql import connect
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission


@pytest.fixture
def files(tmp_path: Path, embedded: Release) -> list[Path]:
    """A method without runs, and one of two."""
    plain, twice = _plain(embedded, "mine/plain"), _twice(embedded, "mine/twice")
    for name, submission in (("plain", plain), ("twice", twice)):
        submission.write(tmp_path / f"{name}.parquet")
    return [tmp_path / "plain.parquet", tmp_path / "twice.parquet"]


def _plain(release: Release, name: str) -> Submission:
    info = release.task_set_info("digits", "open-5w5s5q")
    right = [(7 * task % 26) / 25 for task in range(info.n_tasks)]
    return Submission.from_accuracies(right, info, name, bind=True)


def _twice(release: Release, name: str) -> Submission:
    once = _plain(release, name)
    tables = [
        once.table.append_column("run", pa.repeat(pa.scalar(run), once.table.num_rows))
        for run in ("a", "b")
    ]
    return replace(once, table=pa.concat_tables(tables))


@pytest.mark.slow
@pytest.mark.parametrize("reverse", [False, True])
def test_a_null_run_is_no_run(
    files: list[Path], embedded: Release, tmp_path: Path, reverse: bool
) -> None:
    files = files[::-1] if reverse else files
    together = merge([Submission.read(file) for file in files])
    scores = {s.method: s for s in score(together, embedded).sets[0].scores if "mine" in s.method}
    runs = {name: each.runs for name, each in scores.items()}
    assert runs == {"mine/plain": 1, "mine/twice": 2}
    for file in files:
        (alone,) = (s for s in score(file, embedded).sets[0].scores if "mine" in s.method)
        beside = scores[alone.method]
        assert (alone.accuracy, alone.run_spread) == (beside.accuracy, beside.run_spread)
    asked = (
        "SELECT method, max(asked) FROM by_task WHERE NOT is_reference GROUP BY ALL ORDER BY ALL"
    )
    answered = connect(embedded, files).execute(asked).fetchall()
    assert answered == [("mine/plain", 25), ("mine/twice", 50)]
    pytest.importorskip("vl_convert", reason="needs the extra `report`")
    texts = [str(file) for file in files]
    for command in (["report"], ["plot", "forest"]):
        out = str(tmp_path / f"{command[0]}.svg")
        result = CliRunner().invoke(main, [*command, *texts, "-o", out])
        assert result.exit_code == 0, result.output


def test_a_method_has_runs_or_none(embedded: Release) -> None:
    plain, twice = _plain(embedded, "mine/one"), _twice(embedded, "mine/one")
    unbound = [replace(one, bindings={}) for one in (plain, twice)]
    with pytest.raises(DoubledTaskError, match="in two submissions"):
        merge(unbound)
    table = pa.concat_tables([one.table for one in unbound], promote_options="permissive")
    with pytest.raises(DoubledTaskError, match="without a run"):
        score(Submission(table.unify_dictionaries()), embedded, allow_unbound=True)
