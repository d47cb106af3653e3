"""Methods that are run on tensors: what they get, resuming, stopping, and what is refused."""

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commands import printed

import fslbench_data as fb
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import (
    CountError,
    FSLBenchWarning,
    OutputError,
    PredictionError,
    SpecError,
)
from fslbench_data.release.release import Release

torch = pytest.importorskip("torch", reason="needs PyTorch, of the extra `torch`")

WHERE: Any = {"datasets": "digits", "features": "pixels", "task_sets": "open-5w1s1q"}
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def nearest(support: Any, query: Any, rng: object) -> Any:
    """Positions of one task, (K, S, D) and (K·Q, D), or of B of them."""
    return torch.cdist(query, support.mean(dim=-2)).argmin(dim=-1)


def _digest(**options: Any) -> str:
    return content_digest(fb.evaluate(nearest, **{"name": "it"} | WHERE | options).table)


@pytest.mark.parametrize("device", DEVICES)
def test_one_task_or_many(device: str, embedded: Release) -> None:
    shapes = set()

    def look(support: Any, query: Any, rng: object) -> Any:
        shapes.add((tuple(support.shape), tuple(query.shape)))
        assert support.dtype == query.dtype == torch.float32
        assert support.device.type == query.device.type == device
        return nearest(support, query, rng)

    def digest(**options: Any) -> str:
        submission = fb.evaluate(look, embedded, name="it", device=device, **WHERE | options)
        return content_digest(submission.table)

    alone = digest()
    assert shapes == {((5, 1, 64), (5, 64))}
    assert digest(batch=50) == alone
    assert {support[0] for support, _ in shapes if len(support) == 4} == {50, 26}

    def of_arrays(support: Any, query: Any, rng: object) -> Any:
        return nearest(torch.from_numpy(support), torch.from_numpy(query), rng)

    arrays = fb.evaluate(of_arrays, embedded, name="it", **WHERE)
    assert content_digest(arrays.table) == alone


@pytest.mark.parametrize(
    "answer",
    [
        torch.zeros(5, dtype=torch.bfloat16),
        torch.zeros(5, dtype=int, device="meta"),
        [torch.zeros((), requires_grad=True)] * 5,
    ],
)
def test_tensors_that_are_no_answer(answer: Any, embedded: Release) -> None:
    tasks = embedded.task_set("digits", "open-5w1s1q")
    with pytest.raises(PredictionError) as caught:
        fb.evaluate(lambda s, q, r: answer, embedded, name="it", **WHERE)
    assert caught.value.where == "it on digits/open-5w1s1q, task 0"
    with pytest.raises(CountError, match="where: it on digits/open-5w1s1q"):
        fb.Recorder("it").add_counts(tasks, answer)


class Network(torch.nn.Module):  # type: ignore[misc]
    """One whose answers are all the first class unless it is in evaluation mode."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1))

    def forward(self, support: Any, query: Any, rng: object = None) -> Any:
        found = nearest(support, query, rng)
        return found * 0 if self.training else found


class Holder:
    """A method that holds networks, anywhere that can be seen."""

    def __init__(self, kept: Any) -> None:
        self.kept = kept

    def __call__(self, support: Any, query: Any, rng: object) -> Any:
        kept = self.kept.values() if isinstance(self.kept, dict) else self.kept
        return next(iter(kept if not isinstance(kept, Network) else [kept]))(support, query)


def _learned(network: Any, support: Any, query: Any, rng: object) -> Any:
    return network(support, query)


HOLDERS: dict[str, Any] = {
    "itself": lambda network: network,
    "held": Holder,
    "in a list": lambda network: Holder([network]),
    "in a mapping": lambda network: Holder({"a": network}),
    "a bound method": lambda network: Holder(network).__call__,
    "a partial": lambda network: partial(_learned, network),
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_networks_left_in_training_mode(kind: str, embedded: Release) -> None:
    options: Any = {"name": "it", "device": "cpu", **WHERE}
    network = Network()
    with pytest.warns(FSLBenchWarning, match="it: Network was left in training mode") as said:
        found = fb.evaluate(HOLDERS[kind](network), embedded, **options)
    (told,) = (one for one in said if one.category is FSLBenchWarning)  # not of what is collected
    assert "\n" not in str(told.message)
    assert not network.training
    assert content_digest(found.table) == _digest(device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fb.evaluate(HOLDERS[kind](network), embedded, max_tasks=1, **options)


def test_settings_that_are_wrong(embedded: Release, tmp_path: Path) -> None:
    journal = {"name": "it", "max_tasks": 1, "journal": tmp_path / "j", **WHERE}
    fb.evaluate(nearest, embedded, device="cpu", **journal)
    with pytest.raises(OutputError, match="device: 'cpu', now 'cpu:0'"):
        fb.evaluate(nearest, embedded, device=torch.device("cpu", 0), **journal)
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"features": "pixels", "device": "abacus"}, "opens no device 'abacus'"),
        ({"features": "pixels", "device": 1.5}, "opens no device"),
        ({"features": "pixels", "device": "cuda:99"}, "opens no device 'cuda:99'"),
        ({"features": "pixels", "transform": abs}, "features need no transform"),
        ({"images": tmp_path, "device": "cpu"}, "which a transform makes of them"),
    )
    for options, said in wrong:
        with pytest.raises(SpecError, match=said):
            fb.evaluate(nearest, embedded, **options)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tensor_method.py").write_text(
        "def nearest(support, query, rng):\n"
        "    return (query[:, None] - support.mean(dim=1)).norm(dim=2).argmin(dim=1)\n"
    )
    monkeypatch.chdir(tmp_path)
    options = "--features pixels --dataset digits --task-set open-5w1s1q --device cpu -o x.parquet"
    printed("evaluate", "tensor_method.py:nearest", *options.split())
    written = fb.Submission.read(tmp_path / "x.parquet")
    assert content_digest(written.table) == _digest(name="nearest", device="cpu")
