"""Trainings that come from others: none of their code runs unasked; damage is an error of ours."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from small_runs import OWN, write_run

from benchmark_spec.errors import BackboneError, FSLBenchError, MethodFailedError, SpecError
from builders.cli import main

torch = pytest.importorskip("torch", reason="needs torch, of the extra `builders`")
pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra `builders`")

from builders.execution.engine import LocalEngine  # noqa: E402
from builders.features.backbones import load_backbone  # noqa: E402
from builders.training import run as running  # noqa: E402
from builders.training import several, state_sha256  # noqa: E402
from builders.training.building import build_method, source_of  # noqa: E402
from builders.training.folder import ABOUT, CHECKPOINT, CURVE, WEIGHTS, resume  # noqa: E402
from builders.training.images import TrainingImages, load_images  # noqa: E402
from builders.training.settings import read_settings  # noqa: E402
from builders.training.trained import load_network, load_trained  # noqa: E402

SPY = "from pathlib import Path\nPath({mark!r}).touch()\n"
COSINE = "own_methods:Cosine"


def _train(*runs: str | Path, out: str = "out") -> None:
    planned = several.plan([Path(run) for run in runs], [], Path(out).resolve())
    list(several.train_all(planned, None, engine=LocalEngine()))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with trainings: `whole` is finished, `stopped` is not, `own` has its own method."""
    folder = tmp_path_factory.mktemp("made")
    before, path = Path.cwd(), list(sys.path)
    os.chdir(folder)
    try:
        (folder / "own_methods.py").write_text(OWN)
        _train(write_run(folder / "whole.toml"), write_run(folder / "own.toml", method=COSINE))
        step = running._step

        def die(*arguments: Any) -> float:
            if arguments[-1] == 3:
                raise KeyboardInterrupt
            return step(*arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(running, "_step", die)
            with suppress(KeyboardInterrupt):
                _train(write_run(folder / "stopped.toml"))
    finally:
        os.chdir(before)
        sys.path[:] = path
        sys.modules.pop("own_methods", None)
    assert (folder / "out/stopped-0" / CHECKPOINT).exists()
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, the current folder."""
    folder = shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(folder)
    return folder


# ---- code of somebody's own ----------------------------------------------------------------------


def _spied(folder: Path) -> Path:
    """Put other code where the method's is; what it makes shows that it has run."""
    mark = folder / "it-ran"
    (folder / "own_methods.py").write_text(OWN + SPY.format(mark=str(mark)))
    return mark


def _tell(folder: Path, **changes: Any) -> None:
    about = json.loads((folder / ABOUT).read_text())
    (folder / ABOUT).write_text(json.dumps({**about, **changes}))


def test_a_folder_alone_runs_no_code(here: Path) -> None:
    mark, own = _spied(here), here / "out/own-0"
    with pytest.raises(BackboneError, match=r"somebody's own(.|\n)*--method own_methods:Cosine"):
        load_trained(own)
    words = ["answer", "out/own-0", "--dataset", "digits", "-o", "r.parquet"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2, result.output
    assert "a method of somebody's own" in result.output
    assert not mark.exists()


def test_the_code_is_compared_before_it_runs(here: Path) -> None:
    mark, own = _spied(here), here / "out/own-0"
    with pytest.raises(BackboneError, match="code of 'own_methods:Cosine' is not that which"):
        load_trained(own, COSINE)
    about = json.loads((own / ABOUT).read_text())
    (own / ABOUT).write_text(json.dumps({k: v for k, v in about.items() if k != "code"}))
    with pytest.raises(BackboneError, match="is not that which"):
        load_trained(own, COSINE)
    _tell(own, code=about["code"], module="json")  # another module's file
    with pytest.raises(BackboneError, match="is not that which"):
        load_trained(own, COSINE)
    assert not mark.exists()
    (here / "own_methods.py").write_text(OWN)
    with pytest.raises(BackboneError, match="not by 'own_methods:NoLoss'"):
        load_trained(own, "own_methods:NoLoss")
    with pytest.raises(BackboneError, match="it is one of fslbench"):
        load_trained(here / "out/whole-0", COSINE)
    _tell(own, code=about["code"], module="own_methods")
    assert type(load_trained(own, COSINE).method).__name__ == "Cosine"


def test_only_the_network_is_asked_for_and_no_code_runs(here: Path) -> None:
    """As a backbone, and as what another training starts from."""
    mark = _spied(here)
    backbone = load_backbone(f"trained:{here / 'out/own-0'}")
    assert backbone.describe()["weights"]["method"] == "Cosine-conv4-5w1s"
    _train(write_run(here / "leo.toml", method="LEO", start="own"))
    network, settings, _ = load_network(here / "out/own-0")
    leo = load_trained(here / "out/leo-0").method.network.state_dict()
    assert settings.method == COSINE
    assert all(torch.equal(leo[name], values) for name, values in network.state_dict().items())
    assert not mark.exists()


def test_modules_are_found_and_not_run(here: Path) -> None:
    mark = here / "it-ran"
    (here / "inside").mkdir()
    for name in ("__init__", "methods"):
        (here / f"inside/{name}.py").write_text(SPY.format(mark=str(mark)))
    assert source_of("inside.methods") == here / "inside/methods.py"
    assert source_of("inside") == here / "inside/__init__.py"
    assert source_of("builders.training.building") is not None
    (here / "spaced").mkdir()
    (here / "spaced/one.py").touch()
    assert source_of("spaced.one") == here / "spaced/one.py"  # of a package without __init__
    for name in ("nothing", "inside.nothing", "own_methods.x", "sys", "", ".", "a\0b", "inside."):
        assert source_of(name) is None, name
    assert not mark.exists()


def test_a_class_of_another_module_than_is_named(here: Path) -> None:
    """As a package that gives its classes in one place."""
    (here / "inside").mkdir()
    (here / "inside/__init__.py").write_text("from inside.methods import Cosine\n")
    (here / "inside/methods.py").write_text(OWN)
    _train(write_run(here / "packed.toml", method="inside:Cosine"))
    about = json.loads((here / "out/packed-0" / ABOUT).read_text())
    assert about["module"] == "inside.methods"
    assert load_trained(here / "out/packed-0", "inside:Cosine").name == "Cosine-conv4-5w1s"


# ---- damaged and forged folders ------------------------------------------------------------------

VALUES: list[Any] = [
    None, True, -1, 0, 2**64, 1e999, 0.5, "", "x", "\0", "../../x", "9" * 5000, [], [[[]]], {},
    {"a": {"b": 1}}, [1] * 5000,
]  # fmt: skip


def _paths(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(value, dict):
        for name in value:
            yield from _paths(value[name], (*path, name))


def _forged(about: Any, path: tuple[str, ...], value: Any, *, gone: bool = False) -> Any:
    if not path:
        return value
    changed = {**about, path[0]: _forged(about[path[0]], path[1:], value, gone=gone)}
    if gone and len(path) == 1:
        del changed[path[0]]
    return changed


def _every_use(folder: Path) -> None:
    """Whatever reads a folder ends well, or in an error of ours."""
    settings = read_settings(folder.parent.parent / f"{folder.name.removesuffix('-0')}.toml")
    images = TrainingImages(np.zeros((60, 1, 8, 8), np.uint8), np.full(10, 6), "x")
    uses: list[Callable[[], object]] = [
        lambda: load_trained(folder),
        lambda: load_network(folder),
        lambda: several.plan([Path("whole.toml"), Path("stopped.toml")], [], folder.parent),
        lambda: running.train(settings, images, images, folder),
    ]
    for use in uses:
        with suppress(FSLBenchError):
            use()


@pytest.mark.slow
def test_every_field_of_a_finished_training(here: Path) -> None:
    folder = here / "out/whole-0"
    about = json.loads((folder / ABOUT).read_text())
    for number, path in enumerate(_paths(about)):
        for value in (VALUES * 2)[number % len(VALUES) :][:3]:
            (folder / ABOUT).write_text(json.dumps(_forged(about, path, value)))
            _every_use(folder)
        if path:
            (folder / ABOUT).write_text(json.dumps(_forged(about, path, None, gone=True)))
            _every_use(folder)


TEXTS: dict[str, bytes] = {
    "nothing": b"",
    "cut short": b'{"settings": {',
    "of another kind": b"[1, 2",
    "nested": b"[" * 100_000,
    "not UTF-8": b'{"settings": "\xff"}',
    "long numbers": b'{"settings": ' + b"9" * 10_000 + b"}",
    "large": b" " * (2**24 + 1),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_texts_that_are_no_description(text: bytes, here: Path) -> None:
    folder = here / "out/whole-0"
    (folder / ABOUT).write_bytes(text)
    with pytest.raises(SpecError, match=r"trained\.json cannot be read"):
        load_trained(folder)
    _every_use(folder)


def _state(folder: Path) -> dict[str, Any]:
    state: dict[str, Any] = torch.load(folder / WEIGHTS, weights_only=True)
    return state


STATES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a list": lambda state: list(state.values()),
    "no tensors": lambda state: dict.fromkeys(state, 1.0),
    "texts": lambda state: {**state, "network.blocks.0.bias": "x"},
    "numbers for names": lambda state: dict(enumerate(state.values())),
    "fewer": lambda state: dict(list(state.items())[1:]),
    "more": lambda state: {**state, "more": torch.zeros(3)},
    "other shapes": lambda state: {n: t.reshape(-1) for n, t in state.items()},
    "other types": lambda state: {n: torch.zeros(t.shape, dtype=torch.complex64)
                                  for n, t in state.items()},
    "sparse": lambda state: {n: t.to_sparse() for n, t in state.items()},
    "empty": lambda state: {},
}  # fmt: skip


@pytest.mark.parametrize("change", STATES.values(), ids=STATES)
def test_weights_of_something_else(change: Callable[[Any], Any], here: Path) -> None:
    """Even where the description says their digest."""
    folder = here / "out/whole-0"
    changed = change(_state(folder))
    torch.save(changed, folder / WEIGHTS)
    with suppress(Exception):  # of some there is no digest
        _tell(folder, weights_sha256=state_sha256(changed))
    with pytest.raises(BackboneError):
        load_trained(folder)
    with suppress(BackboneError):
        load_network(folder)  # to which other weights do not matter


class Runs:
    """A pickle that runs something."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("it-ran",)


def _fifo(path: Path) -> None:
    os.mkfifo(path)


FILES: dict[str, Callable[[Path], object]] = {
    "a FIFO": _fifo,
    "a link to a FIFO": lambda p: (os.mkfifo(p.with_name("pipe")), p.symlink_to("pipe")),
    "a device": lambda p: p.symlink_to("/dev/zero"),
    "a folder": lambda p: p.mkdir(),
    "code": lambda p: p.write_bytes(pickle.dumps(Runs())),
    "torch's code": lambda p: torch.save({"a": Runs()}, p),
    "noise": lambda p: p.write_bytes(bytes(range(256)) * 9),
}


@pytest.mark.parametrize("put", FILES.values(), ids=FILES)
@pytest.mark.parametrize(
    "name", ["out/whole-0/trained.json", "out/whole-0/weights.pt", "out/stopped-0/checkpoint.pt"]
)
def test_files_that_are_none(name: str, put: Callable[[Path], object], here: Path) -> None:
    (here / name).unlink()
    put(here / name)
    use = load_trained if "whole" in name else lambda _: _train("stopped.toml")
    with pytest.raises(FSLBenchError):
        use(here / "out/whole-0")
    _every_use((here / name).parent)
    assert not (here / "it-ran").exists()


@pytest.mark.slow
def test_every_part_of_a_checkpoint(here: Path) -> None:
    folder = here / "out/stopped-0"
    kept = torch.load(folder / CHECKPOINT, weights_only=True)
    about, settings = json.loads(kept["about"]), read_settings(here / "stopped.toml")
    paths = [path for path in _paths(kept) if len(path) < 2 or path[0] == "progress"]
    changes = [_forged(kept, path, value) for path in paths for value in VALUES[:-1]]
    changes += [_forged(kept, path, None, gone=True) for path in paths if path]
    changes += [{**kept, "about": json.dumps(_forged(about, (name,), 3))} for name in about]
    for changed in changes:
        torch.save(changed, folder / CHECKPOINT)
        method = build_method(settings, 10)
        optimizer = running._optimizer(method, settings.training)
        with suppress(SpecError):
            progress = resume(folder, about, method, optimizer)
            assert progress.step == 2
            assert bool(progress.best) == bool(progress.curve)


def test_a_link_in_a_folder_is_not_written_through(here: Path) -> None:
    folder = here / "out/stopped-0"
    for name in (CURVE, WEIGHTS, ABOUT):
        (folder / name).unlink(missing_ok=True)
        (here / f"victim-{name}").write_text("precious")
        if name != ABOUT:
            (folder / name).symlink_to(here / f"victim-{name}")
    _train("stopped.toml")
    assert {p.read_text() for p in here.glob("victim-*")} == {"precious"}
    assert not (folder / WEIGHTS).is_symlink()
    (folder / "answers.journal").symlink_to(here / "nowhere")
    words = ["answer", "out/stopped-0", "--dataset", "digits", "--task-set", "open-5w10s7q"]
    result = CliRunner().invoke(main, [*words, "-o", "r.parquet"])
    assert result.exit_code == 2, result.output
    assert "answers.journal is a link" in result.output
    assert not (here / "nowhere").exists()


def test_kept_images_that_are_forged(here: Path) -> None:
    (path,) = (here / "out/.images").iterdir()
    with np.load(path) as arrays:
        kept = dict(arrays)
    for name in kept:
        for value in (np.array(3), np.array(["x"]), np.zeros((2, 3)), np.array([-1, 2**62])):
            np.savez(path, **{**kept, name: value})
            with suppress(FSLBenchError):
                load_images(path)
        np.savez(path, **{n: a for n, a in kept.items() if n != name})
        with suppress(FSLBenchError):
            load_images(path)
    whole = path.read_bytes()
    for at in range(0, len(whole), len(whole) // 60):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        with suppress(FSLBenchError):
            load_images(path)


# ---- trainings that go wrong ---------------------------------------------------------------------


def test_what_a_method_raises_is_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as of images too small for the network, which only the first step tells."""
    monkeypatch.chdir(tmp_path)
    path = write_run(tmp_path / "x.toml")
    path.write_text(path.read_text().replace("side = 8", 'side = 1\nfit = "squeeze"'))
    with pytest.raises(MethodFailedError, match=r"ProtoNet raised RuntimeError(.|\n)*step 1, "):
        _train(path)


def test_a_seed_of_the_command_is_bounded_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "x.toml")
    words = ["train", "x.toml", "-o", "out", "--seed", str(2**64)]
    assert CliRunner().invoke(main, words).exit_code == 2
    words[-1] = str(2**64 - 1)
    assert CliRunner().invoke(main, words).exit_code == 0
