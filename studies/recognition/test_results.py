"""Recognising the tasks of results, with and without a fingerprint."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from click.testing import CliRunner

import fslbench_data as fb
from fslbench_data.cli import main
from fslbench_data.release.release import Release
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Binding, Submission
from studies.recognition.__main__ import main as recognition
from studies.recognition.__main__ import recognise_tasks, together
from studies.recognition.statistics import Finding

OPEN = "digits/open-5w1s1q"
Told = Callable[[Path], list[str]]


@pytest.fixture(scope="module")
def embedded() -> Release:
    return fb.load_release()


@pytest.fixture(scope="module")
def example(root: Path) -> Submission:
    return Submission.read(root / "examples/my_results.parquet")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    """What the command prints of a file, as lines."""

    def of(path: Path) -> list[str]:
        monkeypatch.setattr("sys.argv", ["recognition", str(path)])
        recognition()
        return capsys.readouterr().out.splitlines()

    return of


def _counts(submission: Submission, key: str) -> np.ndarray:
    dataset, task_set = key.split("/")
    column = submission.table
    here = pc.and_(
        pc.equal(column["dataset"].cast(pa.string()), dataset),
        pc.equal(column["task_set"].cast(pa.string()), task_set),
    )
    return column.filter(here).sort_by("task_id")["n_correct"].to_numpy()


def _imported(values: np.ndarray, key: str, folder: Path, name: str = "mine") -> Path:
    """A submission of bare accuracies, as the command line makes it."""
    np.save(folder / "values.npy", values)
    path = folder / f"{name}.parquet"
    made = CliRunner().invoke(
        main,
        f"import-accuracies {folder / 'values.npy'} --task-set {key} --method {name} --fraction "
        f"-o {path}",
    )
    assert made.exit_code == 0, made.output
    return path


def test_bare_accuracies_are_recognised(example: Submission, tmp_path: Path, told: Told) -> None:
    path = _imported(_counts(example, OPEN) / 5, OPEN, tmp_path)
    lines = told(path)
    assert lines[0].startswith(f"mine on {OPEN}: 176 tasks; tasks recognised, p = 0.000")
    assert "references 0.0001)" in lines[0]
    assert lines[1:] == ["tasks of 1 results: 1 recognised"]


def test_in_another_order_they_are_not(example: Submission, tmp_path: Path, told: Told) -> None:
    path = _imported(_counts(example, OPEN)[::-1] / 5, OPEN, tmp_path)
    lines = told(path)
    assert "; cannot tell the tasks, p = 0." in lines[0]
    assert lines[1] == "tasks of 1 results: 1 cannot tell"


@pytest.mark.slow
def test_bound_results_are_told_alike_twice(root: Path, told: Told) -> None:
    path = root / "examples/my_results.parquet"
    lines = told(path)
    assert len(lines) == 7
    assert sum("tasks recognised, p = 0.000" in line for line in lines[:6]) == 5
    assert lines[2].endswith("tasks not testable: only 288 orders of the accuracies differ")
    assert lines[6].startswith("tasks of 6 results: 5 recognised, 1 not testable; all together: ")
    assert lines == told(path)


def test_a_prefix_is_compared_with_its_tasks(example: Submission, embedded: Release) -> None:
    info = embedded.task_set_info(*OPEN.split("/"))
    values = _counts(example, OPEN) / 5
    whole = Submission.from_accuracies(values, info, "mine", percent=False, bind=True)
    bindings = {key: Binding(info.fingerprint, 150) for key in whole.bindings}
    part = Submission(whole.table.slice(0, 150), whole.methods, bindings)
    found = recognise_tasks(fb.validate(part, embedded), embedded)
    assert found.groups[0].tasks == 150
    assert found.found.each[0].finding is Finding.RECOGNISED


def _copy(embedded: Release, key: str, reference: str, name: str = "mine") -> Submission:
    info = embedded.task_set_info(*key.split("/"))
    source = next(s for s in embedded.references() if reference in s.methods)
    return Submission.from_accuracies(
        _counts(source, key) / info.protocol.n_query, info, name, percent=False
    )


def test_results_equal_to_a_reference_are_mentioned(
    embedded: Release, tmp_path: Path, told: Told
) -> None:
    path = tmp_path / "copy.parquet"
    _copy(embedded, "digits/open-5w5s5q", "pixels/LR").write(path)
    assert told(path)[0].endswith("; equal to pixels/LR on every task")


def test_at_one_shot_class_means_are_single_images(embedded: Release) -> None:
    one = _copy(embedded, OPEN, "pixels/NCC")
    five = _copy(embedded, "digits/open-5w5s5q", "pixels/NCC")
    answers = fb.validate(merge([one, five]), embedded, allow_unbound=True)
    found = recognise_tasks(answers, embedded)
    assert found.same_as == {1: ("pixels/NCC",)}


def test_several_methods(embedded: Release) -> None:
    info = embedded.task_set_info("digits", "open-5w10s7q")
    counts = np.full((2, info.n_tasks), 35)
    counts[0, 0] = 34
    parts = [
        Submission.from_accuracies(each / 35, info, name, percent=False)
        for name, each in zip("ab", counts, strict=True)
    ]
    found = recognise_tasks(fb.validate(merge(parts), embedded, allow_unbound=True), embedded)
    assert [each.finding for each in found.found.each] == [Finding.NOT_TESTABLE] * 2
    assert found.found.each[0].reason.endswith("orders of the accuracies differ")
    assert found.found.each[1].reason == "the same accuracy on every task"
    lines = list(together(found))
    assert lines[0].startswith("all 2 methods on digits/open-5w10s7q: ")
    assert lines[1].startswith("tasks of 2 results: 2 not testable; all together: ")
    assert found.same_as == {}


@pytest.mark.parametrize("key", ["digits/open-5w5s5q", "digits/closed-5w5s5q"])
def test_the_reference_methods_are_recognised(key: str, embedded: Release) -> None:
    submission = _copy(embedded, key, "pixels/MatchingNet")
    found = recognise_tasks(fb.validate(submission, embedded, allow_unbound=True), embedded)
    assert found.found.each[0].finding is Finding.RECOGNISED
