"""Methods of PyTorch: of easyfsl, run as they are, and those that are run on tensors."""

import subprocess
import sys
import warnings
from functools import partial

import numpy as np
import pytest
from commands import printed

import fslbench_data as fb
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import (
    CountError,
    FSLBenchWarning,
    MethodFailedError,
    OutputError,
    PredictionError,
    SpecError,
)

torch = pytest.importorskip("torch", reason="needs PyTorch, of the extra `torch`")

WHERE = {"datasets": "digits", "features": "pixels", "task_sets": "open-5w1s1q"}
FIVE_SHOTS = WHERE | {"task_sets": "open-5w5s5q"}


def nearest(support, query, rng):
    """Positions of one task, (K, S, D) and (K·Q, D), or of B of them."""
    return torch.cdist(query, support.mean(dim=-2)).argmin(dim=-1)


def _digest(method, **options):
    return content_digest(fb.evaluate(method, **{"name": "it"} | WHERE | options).table)


@pytest.mark.parametrize("device", ["cpu", *["cuda"] * torch.cuda.is_available()])
def test_one_task_or_many(device):
    shapes = set()

    def look(support, query, rng):
        shapes.add((tuple(support.shape), tuple(query.shape)))
        assert support.dtype == query.dtype == torch.float32
        assert support.device.type == query.device.type == device
        return nearest(support, query, rng)

    alone = _digest(look, device=device)
    assert shapes == {((5, 1, 64), (5, 64))}
    assert _digest(look, device=device, batch=50) == alone
    assert {support[0] for support, _ in shapes if len(support) == 4} == {50, 26}

    def of_arrays(support, query, rng):
        return nearest(torch.from_numpy(support), torch.from_numpy(query), rng)

    assert _digest(of_arrays) == alone


@pytest.mark.parametrize(
    "answer",
    [
        torch.zeros(5, dtype=torch.bfloat16),
        torch.zeros(5, dtype=int, device="meta"),
        [torch.zeros((), requires_grad=True)] * 5,
    ],
)
def test_tensors_that_are_no_answer(answer, embedded):
    with pytest.raises(PredictionError) as caught:
        _digest(lambda s, q, r: answer)
    assert caught.value.where == "it on digits/open-5w1s1q, task 0"
    with pytest.raises(CountError, match="where: it on digits/open-5w1s1q"):
        fb.Recorder("it").add_counts(embedded.task_set("digits", "open-5w1s1q"), answer)


class Network(torch.nn.Module):
    """One whose answers are all the first class unless it is in evaluation mode."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1))

    def forward(self, support, query, rng=None):
        found = nearest(support, query, rng)
        return found * 0 if self.training else found


class Holder:
    """A method that holds networks, anywhere that can be seen."""

    def __init__(self, kept):
        self.kept = kept

    def __call__(self, support, query, rng):
        kept = self.kept.values() if isinstance(self.kept, dict) else self.kept
        return next(iter(kept if not isinstance(kept, Network) else [kept]))(support, query)


HOLDERS = {
    "itself": lambda network: network,
    "held": Holder,
    "in a list": lambda network: Holder([network]),
    "in a mapping": lambda network: Holder({"a": network}),
    "a bound method": lambda network: Holder(network).__call__,
    "a partial": lambda network: partial(lambda held, *given: held(*given), network),
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_networks_left_in_training_mode(kind):
    network = Network()
    with pytest.warns(FSLBenchWarning, match="it: Network was left in training mode") as said:
        found = _digest(HOLDERS[kind](network), device="cpu")
    (told,) = (one for one in said if one.category is FSLBenchWarning)  # not of what is collected
    assert "\n" not in str(told.message)
    assert not network.training
    assert found == _digest(nearest, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _digest(HOLDERS[kind](network), device="cpu", max_tasks=1)


def test_settings_that_are_wrong(tmp_path):
    journal = {"name": "it", "max_tasks": 1, "journal": tmp_path / "j", **WHERE}
    fb.evaluate(nearest, device="cpu", **journal)
    with pytest.raises(OutputError, match="device: 'cpu', now 'cpu:0'"):
        fb.evaluate(nearest, device=torch.device("cpu", 0), **journal)
    wrong = (
        ({"features": "pixels", "device": "abacus"}, "opens no device 'abacus'"),
        ({"features": "pixels", "device": 1.5}, "opens no device"),
        ({"features": "pixels", "device": "cuda:99"}, "opens no device 'cuda:99'"),
        ({"features": "pixels", "transform": abs}, "features need no transform"),
        ({"images": tmp_path, "device": "cpu"}, "which a transform makes of them"),
    )
    for options, said in wrong:
        with pytest.raises(SpecError, match=said):
            fb.evaluate(nearest, **options)


def test_the_command(tmp_path, monkeypatch):
    (tmp_path / "tensor_method.py").write_text(
        "def nearest(support, query, rng):\n"
        "    return (query[:, None] - support.mean(dim=1)).norm(dim=2).argmin(dim=1)\n"
    )
    monkeypatch.chdir(tmp_path)
    options = "--features pixels --dataset digits --task-set open-5w1s1q --device cpu -o x.parquet"
    printed("evaluate", "tensor_method.py:nearest", *options.split())
    written = fb.Submission.read(tmp_path / "x.parquet")
    assert content_digest(written.table) == _digest(nearest, name="nearest", device="cpu")


@pytest.fixture(scope="module")
def methods():
    return pytest.importorskip("easyfsl.methods", reason="needs easyfsl")


def test_easyfsls_prototypical_networks(methods):
    networks = fb.easyfsl(methods.PrototypicalNetworks())
    expected = _digest(nearest, device="cpu", **FIVE_SHOTS)
    assert _digest(networks, **FIVE_SHOTS) == expected
    assert _digest(networks, device="cpu", **FIVE_SHOTS) == expected


def test_easyfsls_backbone_in_training_mode(methods):
    backbone = torch.nn.Linear(64, 8)
    with pytest.warns(FSLBenchWarning, match="PrototypicalNetworks was left in training mode"):
        fb.easyfsl(methods.PrototypicalNetworks(backbone))
    assert not backbone.training
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fb.easyfsl(methods.PrototypicalNetworks(backbone).eval())
        fb.easyfsl(methods.PrototypicalNetworks())  # without a network


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("SimpleShot", {}),
        ("BDCSPN", {}),
        ("Finetune", {"fine_tuning_steps": 20}),
        ("PTMAP", {"fine_tuning_steps": 2}),
    ],
)
def test_easyfsls_methods_answer_each_task_by_itself(name, settings, methods):
    kind, options = getattr(methods, name), {"name": "it", "device": "cpu", **FIVE_SHOTS}
    adapted = fb.easyfsl(kind(**settings))
    submission = fb.evaluate(adapted, max_tasks=2, **options)
    assert submission.methods["it"].transductive == kind.is_transductive()
    again = fb.evaluate(adapted, max_tasks=1, **options)
    assert again.table == submission.table.slice(0, 1)  # nothing is left of the tasks before
    assert np.mean(submission.table.column("n_correct").to_numpy()) > 18  # of 25


def test_easyfsls_random_numbers_come_from_the_task(methods):
    class Noisy(torch.nn.Module):
        def forward(self, features):
            return features + 20 * torch.randn_like(features)

    noisy = fb.easyfsl(methods.SimpleShot(Noisy()))
    before = torch.random.get_rng_state()
    first = _digest(noisy, **FIVE_SHOTS)
    assert torch.equal(before, torch.random.get_rng_state())
    assert first == _digest(noisy, **FIVE_SHOTS)
    assert first != _digest(noisy, seed=1, **FIVE_SHOTS)


def test_what_easyfsl_cannot_answer(methods, root):
    for wrong, said in ((methods.SimpleShot, "is a class"), ({}, "dict has no process_support_se")):
        with pytest.raises(SpecError, match=said):
            fb.easyfsl(wrong)
    with pytest.raises(MethodFailedError, match=r"support of \(2, 5, 5, 64\)"):
        _digest(fb.easyfsl(methods.SimpleShot()), batch=2, **FIVE_SHOTS)
    with pytest.raises(SpecError, match="support of files"):
        fb.easyfsl(methods.SimpleShot())([[root]], [root], np.random.default_rng(0))


@pytest.mark.slow
def test_the_example_of_all_three(methods, root, tmp_path):
    path = tmp_path / "x.parquet"
    script = root / "examples/outside_methods.py"
    subprocess.run([sys.executable, script, path], check=True, cwd=tmp_path)
    report = fb.score(path)
    assert len(report.scores) == 6
    assert not report.signature.unbound
