"""LEO beside its equations by numpy, with the gradients of softmax regression by hand."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from plain_episodes import Floats, Maps, by_class, cross_entropy, fixed_episode, numbers, softmax  # noqa: E402

from builders.training.method import Episode  # noqa: E402
from builders.training.methods.adapting import LEO  # noqa: E402

WAY, SHOT, QUERY, FEATURES, LATENT = 3, 2, 2, 8, 4
RATE, FINETUNE, STEPS, FINETUNES = 0.5, 0.25, 2, 3


def _method(**weights: float) -> LEO:
    torch.manual_seed(0)
    method = LEO(
        Maps(2, 2),
        latent=LATENT,
        rate=RATE,
        steps=STEPS,
        finetune_rate=FINETUNE,
        finetune_steps=FINETUNES,
        **weights,
    )
    for layer in (method.encoder, *method.relation):
        for values in layer.parameters():
            values.data.abs_()  # so that no standard deviation is 0
    method.encoder.bias.data.add_(3)
    return method.double()


def _codes(method: LEO, support: Floats) -> tuple[Floats, Floats]:
    """Means and standard deviations (K, latent) of codes, from all pairs of images."""
    hidden = support @ numbers(method.encoder.weight).T + numbers(method.encoder.bias)
    related = []
    for first in hidden:
        row = []
        for second in hidden:
            pair = np.concatenate([first, second])
            for layer in (0, 2, 4):
                pair = np.maximum(numbers(method.relation[layer].weight) @ pair, 0)
            row.append(pair)
        related.append(np.mean(row, axis=0))
    codes = np.array(related).reshape(WAY, SHOT, -1).mean(axis=1)
    return codes[:, :LATENT], codes[:, LATENT:]


def _slope(support: Floats, weights: Floats) -> Floats:
    """The gradient of the support loss by weights (K, D)."""
    error = softmax(support @ weights.T) - np.eye(WAY)[by_class(WAY, SHOT)]
    return error.T @ support / len(support)


def _fitted(
    method: LEO, support: Floats, codes: Floats, noises: list[Floats]
) -> tuple[Floats, Floats]:
    """Codes and weights after their steps; noises (K, D) are of the weights' draws."""
    matrix, bias = numbers(method.decoder.weight), numbers(method.decoder.bias)

    def decoded(codes: Floats, noise: Floats) -> Floats:
        both = codes @ matrix.T + bias
        return both[:, :FEATURES] + both[:, FEATURES:] * noise

    for noise in noises[:-1]:
        slope = _slope(support, decoded(codes, noise))
        codes = codes - RATE * (slope @ matrix[:FEATURES] + (slope * noise) @ matrix[FEATURES:])
    weights = decoded(codes, noises[-1])
    for _ in range(FINETUNES):
        weights = weights - FINETUNE * _slope(support, weights)
    return codes, weights


def _flat(episode: Episode) -> tuple[Floats, Floats]:
    return (
        numbers(episode.support).reshape(WAY * SHOT, -1),
        numbers(episode.query).reshape(WAY * QUERY, -1),
    )


def test_scores_are_of_means_and_weights_stay() -> None:
    method, episode = _method().eval(), fixed_episode(WAY, SHOT, QUERY, 2, 2, 2)
    before = {name: values.clone() for name, values in method.state_dict().items()}
    with torch.no_grad():
        scores = method.scores(episode.support, episode.query.flatten(0, 1))
    support, queries = _flat(episode)
    none = [np.zeros((WAY, FEATURES))] * (STEPS + 1)
    _, weights = _fitted(method, support, _codes(method, support)[0], none)
    np.testing.assert_allclose(numbers(scores), queries @ weights.T, rtol=0, atol=1e-9)
    assert all(torch.equal(values, before[name]) for name, values in method.state_dict().items())


def test_the_loss_is_of_draws_and_penalties() -> None:
    method = _method(kl_weight=0.7, encoder_weight=0.6, orthogonality_weight=0.5).train()
    episode = fixed_episode(WAY, SHOT, QUERY, 2, 2, 2)
    support, queries = _flat(episode)
    mean, deviation = _codes(method, support)
    assert (deviation > 0).all()
    torch.manual_seed(5)
    shapes = [(WAY, LATENT), *[(WAY, FEATURES)] * (STEPS + 1)]
    noise, *noises = [numbers(torch.randn(shape, dtype=torch.float64)) for shape in shapes]
    start = mean + deviation * noise
    moved, weights = _fitted(method, support, start, noises)
    own = -np.log(deviation) - (start - mean) ** 2 / (2 * deviation**2)
    standard = -(start**2) / 2
    columns = numbers(method.decoder.weight).T
    unit = columns / np.sqrt((columns**2).sum(axis=1, keepdims=True))
    expected = (
        cross_entropy(queries @ weights.T, by_class(WAY, QUERY))
        + 0.7 * (own - standard).mean()
        + 0.6 * ((moved - start) ** 2).mean()
        + 0.5 * ((unit @ unit.T - np.eye(LATENT)) ** 2).mean()
    )
    torch.manual_seed(5)
    loss = method.loss(episode)
    assert float(loss.detach()) == pytest.approx(expected, abs=1e-9)
    loss.backward()
    assert all(values.grad.abs().max() > 0 for values in method.parameters())


def test_the_network_stays_as_it_is() -> None:
    method = _method().train()
    assert method.training
    assert not method.network.training
