"""A linear classifier on frozen vectors: multinomial logistic regression, solved to its optimum.

L-BFGS (scipy) over the whole training set: no learning rate, no random order, the same answer every
time. The features of a biLM are so correlated that plain L-BFGS takes hundreds of steps; in
coordinates where the vectors' covariance is the identity it takes about fifty. Only the coordinates
change: the penalty is still lambda / 2 * ||weights of the standardised features||^2.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.errors import missing_extra

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

PENALTIES = (1e-4, 1e-5, 1e-6, 1e-7)
"""Tried from strong to weak, each warm-started, as long as the development accuracy improves."""
CURVATURE = 0.02
"""About the mean of p (1 - p): the curvature of the loss, to be compared with the penalty's."""
MAX_STEPS = 300


class ProbeData(NamedTuple):
    """Vectors with their labels."""

    vectors: Floats  # (N, D)
    labels: Integers  # (N,); -1: a label that the training set lacks
    rows: Integers | None = None
    """(N,): the row of the learned vector of a token that the encoder lacks, otherwise -1."""


class LinearProbe(NamedTuple):
    """scores = vectors @ weight + bias (+ own[row] where a token has no vector)."""

    weight: Doubles  # (D, K)
    bias: Doubles  # (K,)
    own: Doubles  # (R, K)
    penalty: float
    development_accuracy: float
    is_solved: bool
    """Whether the solver reached the optimum within ``MAX_STEPS``."""

    def predict(self, data: ProbeData) -> Integers:
        """(N,): the likeliest label of each vector."""
        scores = data.vectors @ self.weight.astype(np.float32) + self.bias.astype(np.float32)
        if data.rows is not None:
            lacking = data.rows >= 0
            scores[lacking] += self.own[data.rows[lacking]].astype(np.float32)
        found: Integers = scores.argmax(axis=1)
        return found

    def accuracy(self, data: ProbeData) -> float:
        """The share of labels that are predicted correctly."""
        return float((self.predict(data) == data.labels).mean())


def fit_probe(
    train: ProbeData,
    development: ProbeData,
    num_labels: int,
    penalties: tuple[float, ...] = PENALTIES,
    tolerance: float = 1e-4,
) -> LinearProbe:
    """Fit with weaker and weaker penalties until the development accuracy falls; the best one."""
    problem = _Problem(train, num_labels)
    point = problem.start()
    best: LinearProbe | None = None
    for penalty in sorted(penalties, reverse=True):
        point, is_solved = problem.solve(penalty, point, tolerance)
        probe = problem.probe(point)._replace(penalty=penalty, is_solved=is_solved)
        probe = probe._replace(development_accuracy=probe.accuracy(development))
        if best is not None and probe.development_accuracy < best.development_accuracy:
            break
        best = probe
    assert best is not None
    return best


class _Problem:
    """The loss and its gradient. A point is (D + 1 + R, K): weights of the standardised features,
    bias, and the rows of words that have no vector.
    """

    def __init__(self, train: ProbeData, num_labels: int) -> None:
        self.num_labels = num_labels
        self.labels = torch.from_numpy(train.labels)
        self.mean = train.vectors.mean(axis=0, dtype=np.float64)
        spread = train.vectors.std(axis=0, dtype=np.float64)
        self.spread = np.where(spread > 1e-7, spread, 1.0)
        standard = ((train.vectors - self.mean) / self.spread).astype(np.float32)  # (N, D)
        covariance = (standard.T @ standard).astype(np.float64) / len(standard)
        eigenvalues, self.turn = np.linalg.eigh(covariance)  # (D,), (D, D)
        self.variances = eigenvalues.clip(min=0)
        self.features = torch.from_numpy(standard @ self.turn.astype(np.float32))  # (N, D)
        self.own_places = self.own_rows = torch.zeros(0, dtype=torch.long)
        self.shares = np.zeros(0)
        if train.rows is not None:
            places = np.flatnonzero(train.rows >= 0)
            self.own_places = torch.from_numpy(places)
            self.own_rows = torch.from_numpy(train.rows[places])
            # Row 0 exists even if training never needs it, because a later token may.
            self.shares = np.bincount(train.rows[places], minlength=1) / len(standard)  # (R,)

    @property
    def dim(self) -> int:
        return len(self.variances)

    def start(self) -> Doubles:
        """Zero weights, and the bias that predicts each label's frequency."""
        counts = np.bincount(self.labels.numpy(), minlength=self.num_labels) + 1.0
        point = np.zeros((self.dim + 1 + len(self.shares), self.num_labels))
        point[self.dim] = np.log(counts / counts.sum())
        return point

    def solve(self, penalty: float, point: Doubles, tolerance: float) -> tuple[Doubles, bool]:
        """The optimum, and whether it was reached."""
        try:
            from scipy.optimize import minimize
        except ImportError:
            raise missing_extra("scipy", "analysis", "a linear probe") from None
        scale = self._scale(penalty)
        result = minimize(
            self._loss(penalty, scale),
            (point / scale[:, None]).ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": MAX_STEPS, "maxcor": 20, "gtol": tolerance, "ftol": 0},
        )
        solved: Doubles = result.x.reshape(point.shape) * scale[:, None]
        return solved, result.nit < MAX_STEPS

    def _scale(self, penalty: float) -> Doubles:
        """(D + 1 + R,): one over the square root of each coordinate's curvature."""
        shares = np.concatenate([self.variances, [1.0], self.shares])
        return np.asarray(1 / np.sqrt(shares + penalty / CURVATURE))

    def _loss(self, penalty: float, scale: Doubles) -> Callable[[Doubles], tuple[float, Doubles]]:
        penalised = np.ones(len(scale))
        penalised[self.dim] = 0  # not the bias
        weights = torch.from_numpy(penalty * penalised * scale**2)[:, None]
        features = self.features * torch.from_numpy(scale[: self.dim].astype(np.float32))
        own_scale = torch.from_numpy(scale[self.dim + 1 :].astype(np.float32))[:, None]
        everyone = torch.arange(len(features))

        def loss(flat: Doubles) -> tuple[float, Doubles]:
            exact = torch.from_numpy(flat).view(len(scale), self.num_labels)
            point = exact.float()
            logits = torch.addmm(point[self.dim], features, point[: self.dim])  # (N, K)
            own = point[self.dim + 1 :] * own_scale
            logits.index_add_(0, self.own_places, own[self.own_rows])
            log_probabilities = torch.log_softmax(logits, dim=1)
            data_loss = -log_probabilities[everyone, self.labels].double().mean()
            error = log_probabilities.exp_()
            error[everyone, self.labels] -= 1
            error /= len(features)
            gradient = self._gradient(features, error, own_scale) + weights * exact
            value = data_loss + 0.5 * (weights * exact**2).sum()
            return float(value), gradient.numpy().ravel()

        return loss

    def _gradient(self, features: Tensor, error: Tensor, own_scale: Tensor) -> Tensor:
        own = torch.zeros(len(own_scale), self.num_labels)
        own.index_add_(0, self.own_rows, error[self.own_places])
        parts = [features.T @ error, error.sum(dim=0, keepdim=True), own * own_scale]
        return torch.cat(parts).double()

    def probe(self, point: Doubles) -> LinearProbe:
        """The probe in terms of the original vectors, neither standardised nor rotated."""
        weight = (self.turn @ point[: self.dim]) / self.spread[:, None]
        bias = point[self.dim] - self.mean @ weight
        return LinearProbe(weight, bias, point[self.dim + 1 :], 0.0, 0.0, True)
