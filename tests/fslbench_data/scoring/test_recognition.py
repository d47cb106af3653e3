"""``fslbench validate`` on results that do not say which tasks they were made on."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from click.testing import CliRunner

import fslbench_data as fb
from analysis_sql.recognition import Finding
from fslbench_data.cli import main
from fslbench_data.release.release import Release
from fslbench_data.render.recognition_text import together
from fslbench_data.scoring.recognition import recognise_tasks
from fslbench_data.submission.bindings import Binding
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission

OPEN = "digits/open-5w1s1q"


def _run(*arguments: object) -> tuple[list[str], str]:
    result = CliRunner(env={"COLUMNS": "400"}).invoke(main, [str(a) for a in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines(), result.stderr


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
    _run(
        "import-accuracies", folder / "values.npy", "--task-set", key, "--method", name,
        "--fraction", "-o", path,
    )  # fmt: skip
    return path


def test_bare_accuracies_are_recognised(example: Submission, tmp_path: Path) -> None:
    path = _imported(_counts(example, OPEN) / 5, OPEN, tmp_path)
    lines, errors = _run("validate", path, "--unbound")
    assert lines[0].startswith(f"mine on {OPEN}: 176 tasks, unbound; tasks recognised, p = 0.000")
    assert "references 0.0001)" in lines[0]
    assert lines[1:] == ["tasks of 1 results: 1 recognised"]
    assert "is a valid submission" in errors


def test_in_another_order_they_are_not(example: Submission, tmp_path: Path) -> None:
    path = _imported(_counts(example, OPEN)[::-1] / 5, OPEN, tmp_path)
    lines, _ = _run("validate", path, "--unbound")
    assert "unbound; cannot tell the tasks, p = 0." in lines[0]
    assert lines[1] == "tasks of 1 results: 1 cannot tell"


def test_bound_results_are_tested_only_if_asked(root: Path) -> None:
    path = root / "examples/my_results.parquet"
    lines, _ = _run("validate", path)
    assert len(lines) == 6
    assert not any(" p = " in line for line in lines)
    lines, _ = _run("validate", path, "--recognise")
    assert len(lines) == 7
    assert sum("bound to" in line and "tasks recognised, p = 0.000" in line for line in lines) == 5
    assert lines[2].endswith("tasks not testable: only 288 orders of the accuracies differ")
    assert lines[6].startswith("tasks of 6 results: 5 recognised, 1 not testable; all together: ")
    assert lines == _run("validate", path, "--recognise")[0]


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


def test_results_equal_to_a_reference_are_mentioned(embedded: Release, tmp_path: Path) -> None:
    path = tmp_path / "copy.parquet"
    _copy(embedded, "digits/open-5w5s5q", "pixels/LR").write(path)
    lines, _ = _run("validate", path, "--unbound")
    assert lines[0].endswith("; equal to pixels/LR on every task")


def test_at_one_shot_class_means_are_single_images(embedded: Release) -> None:
    one = _copy(embedded, OPEN, "pixels/NCC")
    five = _copy(embedded, "digits/open-5w5s5q", "pixels/NCC")
    answers = fb.validate(merge([one, five]), embedded, allow_unbound=True)
    found = recognise_tasks(answers, embedded)
    assert found.same_as == {1: ("pixels/NCC",)}


def test_several_methods_and_release_without_references(toy: Release) -> None:
    info = toy.task_set_info("cats", "closed-2w1s2q")
    parts = [
        Submission.from_accuracies(np.array(counts) / 4, info, name, percent=False)
        for name, counts in (("a", [0, 1, 2, 3, 4]), ("b", [4, 4, 4, 4, 4]))
    ]
    found = recognise_tasks(fb.validate(merge(parts), toy, allow_unbound=True), toy)
    assert [each.finding for each in found.found.each] == [Finding.NOT_TESTABLE] * 2
    assert found.found.each[0].reason == "only 4 orders of the accuracies differ"
    assert found.found.each[1].reason == "the same accuracy on every task"
    lines = list(together(found))
    assert lines[0].startswith("all 2 methods on cats/closed-2w1s2q: cannot tell the tasks, p = ")
    assert lines[1].startswith("tasks of 2 results: 2 not testable; all together: ")
    assert found.same_as == {}


@pytest.mark.parametrize("key", ["digits/open-5w5s5q", "digits/closed-5w5s5q"])
def test_the_reference_methods_are_recognised(key: str, embedded: Release) -> None:
    submission = _copy(embedded, key, "pixels/MatchingNet")
    found = recognise_tasks(fb.validate(submission, embedded, allow_unbound=True), embedded)
    assert found.found.each[0].finding is Finding.RECOGNISED
