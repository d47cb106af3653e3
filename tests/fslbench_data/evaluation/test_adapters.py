"""Methods of scikit-learn and easyfsl, run as they are."""

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fslbench_data as fb
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import FSLBenchWarning, MethodFailedError, SpecError
from fslbench_data.release.release import Release

Array = np.ndarray[Any, Any]
WHERE: Any = {"datasets": "digits", "features": "pixels", "task_sets": "open-5w5s5q"}


def _digest(method: Any, release: Release, **options: Any) -> str:
    return content_digest(fb.evaluate(method, release, name="it", **WHERE | options).table)


# ---- scikit-learn --------------------------------------------------------------------------------


def test_an_estimator_is_cloned_for_every_task(embedded: Release) -> None:
    neighbors = pytest.importorskip("sklearn.neighbors", reason="needs scikit-learn")

    def by_hand(support: Array, query: Array, rng: object) -> Array:
        nearest = neighbors.KNeighborsClassifier(3)
        nearest.fit(support.reshape(25, 64), np.arange(5).repeat(5))
        return np.asarray(nearest.predict(query))

    estimator = neighbors.KNeighborsClassifier(3)
    assert _digest(fb.sklearn(estimator), embedded) == _digest(by_hand, embedded)
    assert not hasattr(estimator, "classes_")
    assert fb.sklearn(estimator).__name__ == "KNeighborsClassifier"  # names a run


def test_seeds_come_from_the_task_where_none_is_set(embedded: Release) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    from sklearn.ensemble import BaggingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import ExtraTreeClassifier

    def trees(seed: int | None) -> Any:
        tree = ExtraTreeClassifier(max_depth=3, random_state=seed)
        return fb.sklearn(make_pipeline(BaggingClassifier(tree, n_estimators=2, random_state=seed)))

    few = {"max_tasks": 3}
    first = _digest(trees(None), embedded, **few)
    assert first == _digest(trees(None), embedded, **few)
    assert first != _digest(trees(None), embedded, seed=1, **few)
    fixed = _digest(trees(5), embedded, **few)
    assert fixed == _digest(trees(5), embedded, seed=1, **few)
    assert fixed != first


def test_what_is_no_estimator(embedded: Release) -> None:
    class Half:
        def fit(self, x: Array, y: Array) -> None: ...

    class Whole(Half):  # no parameters, no protocol of clones: copied as it is
        def predict(self, x: Array) -> Array:
            return np.zeros(len(x), int)

    with pytest.raises(SpecError, match=r"Whole is a class(.|\n)*call it first"):
        fb.sklearn(Whole)
    with pytest.raises(SpecError, match="a Half has no predict"):
        fb.sklearn(Half())
    assert fb.evaluate(fb.sklearn(Whole()), embedded, **WHERE).table.num_rows == 31
    with pytest.raises(MethodFailedError, match=r"shape \(2, 5, 5, 64\)"):
        fb.evaluate(fb.sklearn(Whole()), embedded, batch=2, **WHERE)


@pytest.mark.parametrize(
    ("module", "name"),
    [("cluster", "KMeans"), ("linear_model", "Ridge"), ("svm", "OneClassSVM")],
)
def test_estimators_that_are_no_classifiers(module: str, name: str) -> None:
    """Their answers are numbers, too, and would be scored as classes."""
    sklearn = pytest.importorskip(f"sklearn.{module}", reason="needs scikit-learn")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    estimator = getattr(sklearn, name)()
    for given in (estimator, make_pipeline(StandardScaler(), estimator)):
        with pytest.raises(SpecError, match=r"is no classifier, but a"):
            fb.sklearn(given)


# ---- easyfsl -------------------------------------------------------------------------------------


def test_easyfsls_prototypical_networks(embedded: Release) -> None:
    methods = pytest.importorskip("easyfsl.methods", reason="needs easyfsl")

    def euclidean(support: Array, query: Array, rng: object) -> Array:
        return ((query[:, None] - support.mean(axis=1)) ** 2).sum(axis=2).argmin(axis=1)

    networks = fb.easyfsl(methods.PrototypicalNetworks())
    assert _digest(networks, embedded) == _digest(euclidean, embedded)
    assert _digest(networks, embedded, device="cpu") == _digest(euclidean, embedded)


def test_easyfsls_backbone_in_training_mode() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    methods = pytest.importorskip("easyfsl.methods", reason="needs easyfsl")
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
def test_easyfsls_methods_answer_each_task_by_itself(
    name: str, settings: dict[str, int], embedded: Release
) -> None:
    methods = pytest.importorskip("easyfsl.methods", reason="needs easyfsl")
    kind, options = getattr(methods, name), {"name": "it", "device": "cpu"}
    adapted = fb.easyfsl(kind(**settings))
    submission = fb.evaluate(adapted, embedded, max_tasks=2, **WHERE, **options)
    assert submission.methods["it"].transductive == kind.is_transductive()
    again = fb.evaluate(adapted, embedded, max_tasks=1, **WHERE, **options)
    assert again.table == submission.table.slice(0, 1)  # nothing is left of the tasks before
    assert np.mean(submission.table.column("n_correct").to_numpy()) > 18  # of 25


def test_easyfsls_random_numbers_come_from_the_task(embedded: Release) -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    methods = pytest.importorskip("easyfsl.methods", reason="needs easyfsl")

    class Noisy(torch.nn.Module):  # type: ignore[name-defined]
        def forward(self, features: Any) -> Any:
            return features + 20 * torch.randn_like(features)

    noisy = fb.easyfsl(methods.SimpleShot(Noisy()))
    before = torch.random.get_rng_state()
    first = _digest(noisy, embedded)
    assert torch.equal(before, torch.random.get_rng_state())
    assert first == _digest(noisy, embedded)
    assert first != _digest(noisy, embedded, seed=1)


def test_what_easyfsl_cannot_answer(embedded: Release, root: Path) -> None:
    methods = pytest.importorskip("easyfsl.methods", reason="needs easyfsl")
    with pytest.raises(SpecError, match="SimpleShot is a class"):
        fb.easyfsl(methods.SimpleShot)
    with pytest.raises(SpecError, match="a dict has no process_support_set"):
        fb.easyfsl({})
    with pytest.raises(MethodFailedError, match=r"support of \(2, 5, 5, 64\)"):
        fb.evaluate(fb.easyfsl(methods.SimpleShot()), embedded, batch=2, **WHERE)
    with pytest.raises(SpecError, match="support of files"):
        fb.easyfsl(methods.SimpleShot())([[root]], [root], np.random.default_rng(0))


@pytest.mark.slow
def test_the_example_of_all_three(embedded: Release, root: Path, tmp_path: Path) -> None:
    pytest.importorskip("easyfsl", reason="needs easyfsl")
    path = tmp_path / "x.parquet"
    script = root / "examples/outside_methods.py"
    subprocess.run([sys.executable, script, path], check=True, cwd=tmp_path)
    report = fb.score(path, embedded)
    assert len(report.scores) == 6
    assert not report.signature.unbound
