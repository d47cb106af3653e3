"""Multinomial logistic regression as scikit-learn defines it, many tasks at once.

X (n, D) holds a task's support features, Y (K, n) its one-hot classes, W (K, D) the weights, b (K,)
the intercepts, F = W X' + b, and P is the softmax of F over classes.  The regression minimises

    Σ_i [ln Σ_k exp F_ki - F_{y_i,i}] + λ/2 |W|²        λ = 1/C, with two classes 2/C

At the minimum W = A X with A = (Y - P)/λ, so that X enters only through the products G = X X'.
Intercepts have no penalty: the rows of P - Y sum to zero, and features can be centred.  With G
centred and G = L L' (1e-11 is added to the diagonal, for images that are equal) the rows of L are
the features in n coordinates.  A constant column √(K/n) for the intercept makes them Z (n, n+1).
The unknown is V (K, n+1); λ_j is 0 for the last column and λ for the others:

    φ(V) = Σ_i [ln Σ_k exp F_ki - F_{y_i,i}] + ½ Σ λ_j V_kj²       F = V Z'
    φ' = (P - Y) Z + λ_j V        φ''[U] = (P∘(T - Σ_k P∘T)) Z + λ_j U,  T = U Z'

Each Newton step is found by conjugate gradients, and halved until φ falls enough.  Iteration ends
when no entry of φ' exceeds 1e-10; after a hundred steps, where φ falls by less than float64
resolves, 1e-6 is enough.  Steps sum to zero over classes, and there φ'' is positive definite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmark_spec.errors import MethodFailedError
from benchmark_spec.extras import require

Tensor = Any
"""A ``torch.Tensor``."""

TOLERANCE = 1e-10
"""The largest entry of the gradient at which a solution is taken for exact."""

STALLED = 1e-6
"""The largest entry that is accepted after all steps, where float64 resolves no fall of φ."""

_JITTER = 1e-11
_NEWTON_STEPS, _HALVINGS = 100, 40


def logistic_regression(
    unit: Tensor, support: Tensor, query: Tensor, *, strength: float = 1.0
) -> Tensor:
    """Compute the queries' logits in float64; their argmax is scikit-learn's prediction.

    Shapes are those of :attr:`builders.baselines.heads.Head.scores`; `strength` is C.
    """
    torch = require("torch")
    tasks, way, shot = support.shape
    x = unit[support.reshape(tasks, -1)]
    gram = torch.bmm(x, x.mT)
    by_mean = gram.mean(dim=2)  # the product of each image with the mean image
    gram -= by_mean[:, :, None] + by_mean[:, None, :] - by_mean.mean(dim=1)[:, None, None]
    target = torch.eye(way, dtype=x.dtype, device=x.device).repeat_interleave(shot, dim=1)
    penalty = (2.0 if way == 2 else 1.0) / strength
    problem = Problem.from_gram(gram, target, penalty)
    v = gram.new_zeros(tasks, way, way * shot + 1)
    logits = problem.logits(v)
    value = problem.value(v, logits)
    for _ in range(_NEWTON_STEPS):
        probabilities = logits.softmax(dim=1)
        gradient = problem.gradient(v, probabilities)
        if float(gradient.abs().max()) <= TOLERANCE:
            break
        step = _newton_step(problem, probabilities, gradient)
        slope = _inner(gradient, step)
        rounding = 1e-13 * (1 + value)
        logits_step = problem.logits(step)
        scale = torch.ones_like(value)  # of each task's step
        for _ in range(_HALVINGS):
            new_v = v + scale[:, None, None] * step
            new_logits = logits + scale[:, None, None] * logits_step
            new_value = problem.value(new_v, new_logits)
            falls_enough = new_value <= value + 1e-4 * scale * slope + rounding
            if bool(falls_enough.all()):
                break
            scale = torch.where(falls_enough, scale, scale / 2)
        v, logits, value = new_v, new_logits, new_value
    else:
        if (largest := float(gradient.abs().max())) > STALLED:
            raise MethodFailedError(
                f"logistic regression did not converge: gradient {largest:.1e}",
                expected=f"at most {STALLED:g} after {_NEWTON_STEPS} steps",
                fix="leave the head LR out, or look for features of very different sizes",
            )
    coefficients = (target - probabilities) / penalty
    coefficients -= coefficients.mean(dim=2, keepdim=True)  # zero but for rounding
    intercept = v[..., -1] * problem.z[:, :1, -1]
    weights = torch.bmm(coefficients, x)
    intercept = intercept - torch.bmm(coefficients, by_mean[..., None])[..., 0]
    return (torch.bmm(weights, unit[query].mT) + intercept[..., None]).mT


@dataclass(frozen=True, eq=False)
class Problem:
    """φ of B tasks: Z (B, n, n+1) with the intercept's column, Y (K, n) and λ_j (n+1,)."""

    z: Tensor
    target: Tensor
    penalties: Tensor

    @classmethod
    def from_gram(cls, gram: Tensor, target: Tensor, penalty: float) -> Problem:
        """Make the problem of centred G (B, n, n), Y (K, n) and λ."""
        torch = require("torch")
        way, n = target.shape
        jitter = _JITTER * torch.eye(n, dtype=gram.dtype, device=gram.device)
        z = torch.empty(len(gram), n, n + 1, dtype=gram.dtype, device=gram.device)
        z[..., :n] = torch.linalg.cholesky(gram + jitter)
        z[..., n] = (way / n) ** 0.5
        penalties = torch.full((n + 1,), penalty, dtype=gram.dtype, device=gram.device)
        penalties[n] = 0.0
        return cls(z, target, penalties)

    def logits(self, v: Tensor) -> Tensor:
        """Return F (B, K, n) of V (B, K, n+1)."""
        return require("torch").bmm(v, self.z.mT)

    def value(self, v: Tensor, logits: Tensor) -> Tensor:
        """Return φ (B,) of V and its F."""
        loss = logits.logsumexp(dim=1).sum(dim=1) - (logits * self.target).flatten(1).sum(dim=1)
        return loss + _inner(self.penalties * v, v) / 2

    def gradient(self, v: Tensor, probabilities: Tensor) -> Tensor:
        """Return φ' (B, K, n+1) of V and its P."""
        residual = probabilities - self.target
        return require("torch").bmm(residual, self.z) + self.penalties * v

    def curvature(self, u: Tensor, probabilities: Tensor) -> Tensor:
        """Return φ''[U] (B, K, n+1) of a direction U, at P."""
        t = probabilities * self.logits(u)
        t -= probabilities * t.sum(dim=1, keepdim=True)
        return require("torch").bmm(t, self.z) + self.penalties * u


def _newton_step(problem: Problem, probabilities: Tensor, gradient: Tensor) -> Tensor:
    """Find U (B, K, n+1) with φ''[U] = -φ', by conjugate gradients, to |φ'|² or a tenth of |φ'|.

    A task whose residual is that small is no longer changed: what is left is rounding, in part
    along vectors that are equal over classes, on which φ'' is zero.
    """
    torch = require("torch")
    tiny = torch.finfo(gradient.dtype).tiny
    residual, step = -gradient, torch.zeros_like(gradient)
    direction = residual
    square = _inner(residual, residual)
    goal = (square * square.clamp(max=0.01)).clamp(min=TOLERANCE**2 / 100)
    for _ in range(gradient.shape[1] * gradient.shape[2]):
        solved = square <= goal
        if bool(solved.all()):
            break
        curvature = problem.curvature(direction, probabilities)
        length = square / (_inner(direction, curvature) + tiny)
        length = torch.where(solved, 0.0, length)[:, None, None]
        step = step + length * direction
        residual = residual - length * curvature
        last_square, square = square, _inner(residual, residual)
        direction = residual + (square / (last_square + tiny))[:, None, None] * direction
    return step


def _inner(a: Tensor, b: Tensor) -> Tensor:
    """Return the inner products (B,) of two tensors (B, ...)."""
    return require("torch").linalg.vecdot(a.flatten(1), b.flatten(1))
