"""Importing released accuracies: the layout, the counts, and what is refused."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark_spec.errors import AccuracyError, SourceError
from fslbench_data.release.release import Release, load_release
from fslbench_data.submission.model import Submission
from fslbench_data.submission.reading import counts_of
from fslbench_data.validation.validate import validate
from studies.published_results.__main__ import import_published, load_tensor, main

torch = pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")


@pytest.fixture(scope="module")
def embedded() -> Release:
    return load_release()


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: Path | str) -> None:
    monkeypatch.setattr("sys.argv", ["published_results", *map(str, arguments)])
    main()


def _save(folder: Path, name: str, value: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(value, path)
    return path


def test_a_folder_becomes_a_submission(
    tmp_path: Path,
    embedded: Release,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    counts = np.arange(9) % 36
    for head in ("NCC", "LR"):
        tensor = torch.tensor(100 * counts / 35, dtype=torch.float32)
        _save(tmp_path / "in", f"10-shot/clip/{head}/dtd.pt", tensor)
    _save(tmp_path / "in", "1-shot/clip/NCC/aircraft.pt", torch.full((145,), 80.0))
    (tmp_path / "in/LICENSE").write_text("MIT")
    out = tmp_path / "x.parquet"
    _run(monkeypatch, tmp_path / "in", "-o", out)
    said = capsys.readouterr().out
    assert "methods: 2; data sets: 2; shots: 1, 10; not there: 5 of 8" in said
    assert "clip/LR on aircraft at 1-shot, clip/LR on aircraft at 10-shot" in said
    found = validate(Submission.read(out), embedded)
    assert {(g.method, str(g.info), g.tasks, g.bound) for g in found.groups} == {
        ("clip/LR", "dtd/published-5w10s7q", 9, True),
        ("clip/NCC", "dtd/published-5w10s7q", 9, True),
        ("clip/NCC", "aircraft/published-5w1s1q", 145, True),
    }
    rows = found.submission.table.to_pylist()
    lr = [row["n_correct"] for row in rows if row["method"] == "clip/LR"]
    assert lr == counts.tolist()


@pytest.mark.parametrize("place", ["", "benchmark", "results/benchmark"])
def test_a_checkout_or_any_folder_above_the_results(
    place: str, tmp_path: Path, embedded: Release
) -> None:
    _save(tmp_path / place, "1-shot/clip/NCC/dtd.pt", torch.zeros(82))
    (tmp_path / "configs/benchmark/1-shot/clip/NCC").mkdir(parents=True)  # as the repository has
    assert import_published(tmp_path, embedded).table.num_rows == 82


@pytest.mark.parametrize("part", ["1-shot", "1-shot/clip"])
def test_a_part_of_the_results_is_told_from_none(
    part: str, tmp_path: Path, embedded: Release
) -> None:
    _save(tmp_path, "1-shot/clip/NCC/dtd.pt", torch.zeros(82))
    with pytest.raises(SourceError, match=r"part of the results(.|\n)*name the folder above"):
        import_published(tmp_path / part, embedded)


def test_every_count_survives_float32_percentages(embedded: Release) -> None:
    tasks = embedded.task_set_info("quickdraw", "published-5w10s7q")
    counts = np.arange(2000) % 36
    percentages = (100 * counts / 35).astype(np.float32)
    assert counts_of(percentages, tasks, np.full(2000, 35), 100.0, "x").tolist() == counts.tolist()


@pytest.mark.parametrize("value", [81.0, 101.0, -20.0, 120.0, float("nan"), float("inf"), 0.8])
def test_accuracies_that_no_count_gives(value: float, embedded: Release) -> None:
    tasks = embedded.task_set_info("dtd", "published-5w5s5q")
    percentages = np.full(16, 80.0, np.float32)
    percentages[3] = value
    with pytest.raises(
        AccuracyError, match=r"1 accuracies are (no multiple of 1/25|NaN)(.|\n)*tasks 3"
    ):
        counts_of(percentages, tasks, np.full(16, 25), 100.0, "x")


class Payload:
    """What a hostile file would run on being unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("/tmp/fslbench-was-here"),))


@pytest.mark.parametrize(
    "value",
    [
        {"accuracy": [1.0]},
        [1.0, 2.0],
        3.0,
        "text",
        Payload(),
        torch.nn.Linear(2, 2),
        torch.tensor([1 + 2j]).to_sparse(),
    ],
    ids=["dict", "list", "number", "text", "payload", "module", "sparse"],
)
def test_anything_but_a_tensor_is_refused(
    value: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    marker = Path("/tmp/fslbench-was-here")
    marker.unlink(missing_ok=True)
    path = _save(tmp_path, "10-shot/clip/NCC/dtd.pt", value)
    with pytest.raises(SourceError):
        load_tensor(path)
    with pytest.raises(SystemExit) as ended:
        _run(monkeypatch, tmp_path, "-o", tmp_path / "x.parquet")
    assert ended.value.code == 2
    assert str(path) in capsys.readouterr().err
    assert not (tmp_path / "x.parquet").exists()
    assert not marker.exists()


def test_files_that_are_no_tensors_at_all(tmp_path: Path) -> None:
    for name, data in (("a.pt", b""), ("b.pt", b"hello"), ("c.pt", pickle.dumps([1]))):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(SourceError, match="cannot be read as a tensor"):
            load_tensor(path)


def test_another_layout(tmp_path: Path, embedded: Release) -> None:
    with pytest.raises(SourceError, match="no results"):
        import_published(tmp_path, embedded)
    with pytest.raises(SourceError, match="no folder"):
        import_published(tmp_path / "nowhere", embedded)
    _save(tmp_path / "other", "2-shot/clip/NCC/dtd.pt", torch.zeros(82))
    with pytest.raises(SourceError, match="other shots: 2-shot"):
        import_published(tmp_path / "other", embedded)
    _save(tmp_path, "1-shot/clip/SVM/dtd.pt", torch.zeros(82))
    with pytest.raises(SourceError, match="unknown head"):
        import_published(tmp_path, embedded)


@pytest.mark.parametrize("shape", [(81,), (83,), (82, 1), ()])
def test_another_number_of_tasks(shape: tuple[int, ...], tmp_path: Path, embedded: Release) -> None:
    _save(tmp_path, "1-shot/clip/NCC/dtd.pt", torch.zeros(shape))
    with pytest.raises(AccuracyError, match=r"expected: \(82,\)"):
        import_published(tmp_path, embedded)
