"""RFS beside scikit-learn's logistic regression and a loss by numpy."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

torch = pytest.importorskip("torch")

from builders.training.method import Labelled  # noqa: E402
from builders.training.methods.transfer import RFS  # noqa: E402
from builders.training.networks import Conv4  # noqa: E402

SIDE = 8


def _method(**settings: object) -> RFS:
    torch.manual_seed(0)
    network = Conv4(4, pools=(True, False))
    return RFS(network, classes=7, side=SIDE, **settings)


def _task(way: int, shot: int) -> "tuple[torch.Tensor, torch.Tensor]":
    generator = torch.Generator().manual_seed(1)
    support = torch.rand(way, shot, 1, SIDE, SIDE, generator=generator)
    return support, torch.rand(9, 1, SIDE, SIDE, generator=generator)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("strength", [1.0, 20.0])
@pytest.mark.parametrize(("way", "shot"), [(5, 1), (3, 4), (2, 3)])
def test_scores_are_those_of_scikit_learn(
    way: int, shot: int, strength: float, pooled: bool
) -> None:
    method = _method(strength=strength, pooled=pooled).eval()
    support, query = _task(way, shot)
    with torch.no_grad():
        maps = method.network(torch.cat([support.flatten(0, 1), query])).numpy().astype(float)
    vectors = maps.mean(axis=(2, 3)) if pooled else maps.reshape(len(maps), -1)
    vectors /= np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    regression = LogisticRegression(C=strength, tol=1e-12, max_iter=10_000)
    regression.fit(vectors[: way * shot], np.repeat(np.arange(way), shot))
    expected = regression.decision_function(vectors[way * shot :])
    scores = method.scores(support, query).numpy()
    assert scores.shape == (9, way)
    if way == 2:
        np.testing.assert_allclose(scores[:, 1] - scores[:, 0], expected, atol=1e-5)
    else:
        np.testing.assert_allclose(
            scores - scores.mean(axis=1, keepdims=True),
            expected - expected.mean(axis=1, keepdims=True),
            atol=1e-5,
        )


def test_the_loss_is_cross_entropy_of_a_linear_classifier() -> None:
    method = _method().train()
    images, classes = torch.rand(6, 1, SIDE, SIDE), torch.tensor([0, 1, 6, 3, 3, 2])
    loss = method.loss(None, Labelled(images, classes))
    with torch.no_grad():
        maps = method.network(images).numpy().astype(float)
    weights, bias = (values.detach().numpy() for values in method.classifier.parameters())
    logits = maps.reshape(6, -1) @ weights.T + bias
    expected = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(6), classes]
    assert float(loss.detach()) == pytest.approx(expected.mean(), abs=1e-5)
    loss.backward()
    assert all(values.grad is not None for values in method.parameters())


def test_a_loss_without_labelled_images_is_refused() -> None:
    with pytest.raises(TypeError, match="trained_by"):
        _method().loss(None, None)


def test_scores_are_the_same_each_time_and_in_inference_mode() -> None:
    method = _method().eval()
    before = {name: values.clone() for name, values in method.state_dict().items()}
    task = _task(5, 1)
    first = method.scores(*task)
    with torch.inference_mode():
        again = method.scores(*task)
    assert torch.equal(first, again)
    assert all(torch.equal(values, before[name]) for name, values in method.state_dict().items())
