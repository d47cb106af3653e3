"""Trainings that start from the network of another: after it, and of the same seed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from small_runs import write_run

from benchmark_spec.errors import SpecError
from builders.cli import main

torch = pytest.importorskip("torch", reason="needs torch, of the extra `builders`")

from builders.execution.engine import LocalEngine  # noqa: E402
from builders.training import several  # noqa: E402
from builders.training.folder import ABOUT  # noqa: E402
from builders.training.trained import load_trained  # noqa: E402


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """LEO, whose network is frozen, and ProtoNet, which trains it; the latter is named last."""
    monkeypatch.chdir(tmp_path)
    leo = write_run(tmp_path / "leo.toml", method="LEO", start="proto")
    return [leo, write_run(tmp_path / "proto.toml")]


def _train(runs: list[Path], folder: Path, seeds: tuple[int, ...] = (0,)) -> dict[str, str]:
    planned = several.plan(runs, seeds, folder)
    return dict(several.train_all(planned, None, engine=LocalEngine()))


def test_it_follows_and_has_that_network(runs: list[Path], tmp_path: Path) -> None:
    digests = _train(runs, tmp_path / "out", (0, 1))
    assert list(digests) == ["proto-0", "proto-1", "leo-0", "leo-1"]
    for seed in (0, 1):
        about = json.loads((tmp_path / f"out/leo-{seed}" / ABOUT).read_text())
        assert about["start"] == digests[f"proto-{seed}"]
        ours, theirs = (
            load_trained(tmp_path / f"out/{name}-{seed}").method.network.state_dict()
            for name in ("leo", "proto")
        )
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert digests["leo-0"] != digests["leo-1"]


def test_one_by_one_gives_the_same(runs: list[Path], tmp_path: Path) -> None:
    both = _train(runs, tmp_path / "both")
    (tmp_path / "one").mkdir()
    assert _train(runs[1:], tmp_path / "one") | _train(runs[:1], tmp_path / "one") == both
    assert _train(runs, tmp_path / "one") == both  # finished


def test_without_that_training(runs: list[Path], tmp_path: Path) -> None:
    words = ["train", "leo.toml", "-o", "out"]
    result = CliRunner().invoke(main, words)
    said = " ".join(result.output.split())
    assert result.exit_code == 2
    assert "starts from the network of proto-0, which is not trained" in said
    assert "name proto.toml in the same command" in said
    with pytest.raises(SpecError, match="network of proto-1"):
        several.plan(runs[:1], (1,), tmp_path / "out")


def test_that_training_has_another_network(runs: list[Path], tmp_path: Path) -> None:
    write_run(runs[1], channels=5)
    with pytest.raises(SpecError, match="whose network is another"):
        _train(runs, tmp_path / "out")


def test_that_training_was_made_anew(runs: list[Path], tmp_path: Path) -> None:
    """What a stopped one started from must be what it goes on from."""
    from builders.training import run
    from builders.training.folder import resume

    _train(runs, tmp_path / "out")
    (leo,) = several.plan(runs[:1], (0,), tmp_path / "out")
    about = json.loads((leo.folder / ABOUT).read_text())
    method = load_trained(leo.folder).method
    optimizer = run._optimizer(method, leo.settings.training)
    run.save(leo.folder, about, method, optimizer, run.Progress())
    with pytest.raises(SpecError, match="begun with other start"):
        resume(leo.folder, {**about, "start": "another"}, method, optimizer)


def test_trainings_that_start_from_each_other(runs: list[Path], tmp_path: Path) -> None:
    write_run(runs[1], start="leo")
    with pytest.raises(SpecError, match="start from each other: leo-0, proto-0"):
        several.plan(runs, (0,), tmp_path / "out")
