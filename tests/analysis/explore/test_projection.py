"""Planes of layers: turned towards each other, and nothing else."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from elmokit.analysis.explore.projection import align, best_rotation, plane, project_layers


def turn(angle: float, mirrored: bool) -> np.ndarray:
    rotation = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return rotation @ np.diag([1.0, -1.0]) if mirrored else rotation


@settings(max_examples=30, deadline=None)
@given(st.floats(0, 6.2), st.booleans(), st.integers(0, 99))
def test_a_turned_or_mirrored_plane_is_turned_back(angle: float, mirrored: bool, seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(7, 2))
    turned = points @ turn(angle, mirrored)
    np.testing.assert_allclose(turned @ best_rotation(turned, points), points, atol=1e-9)


def test_turning_keeps_all_distances_and_the_top_layer() -> None:
    planes = list(np.random.default_rng(1).normal(size=(3, 6, 2)))
    placed = align(planes)
    np.testing.assert_array_equal(placed[-1], planes[-1])
    for before, after in zip(planes, placed, strict=True):
        gaps = [np.linalg.norm(p[:, None] - p[None], axis=-1) for p in (before, after)]
        np.testing.assert_allclose(*gaps)


def test_aligned_points_move_less_than_unaligned_ones() -> None:
    random = np.random.default_rng(2)
    top = random.normal(size=(40, 5)) * [4, 2, 1, 1, 1]
    below = top[:, ::-1] @ np.linalg.qr(random.normal(size=(5, 5)))[0] + 0.1 * random.normal(
        size=(40, 5)
    )
    vectors = np.stack([below, top], axis=1).astype(np.float32)
    aligned = [np.array(layer.points) for layer in project_layers(vectors)]
    unaligned = [plane(vectors[:, layer])[0] for layer in range(2)]
    path = np.linalg.norm(aligned[0] - aligned[1])
    assert path <= np.linalg.norm(unaligned[0] - unaligned[1])
    assert path < 0.3 * np.linalg.norm(aligned[1])  # the two layers are the same but for a turn


def test_the_share_of_variance_is_that_of_two_axes() -> None:
    vectors = np.zeros((4, 1, 3), dtype=np.float32)
    vectors[:, 0] = [[3, 0, 0], [-3, 0, 0], [0, 2, 1], [0, -2, -1]]  # variances 18, 10
    (layer,) = project_layers(vectors)
    np.testing.assert_allclose(layer.variance, (18 / 28, 10 / 28), atol=1e-4)
    np.testing.assert_allclose(np.square(layer.points).sum(axis=1).mean(), 1, atol=1e-3)


def test_equal_vectors_are_one_point_and_rounding_is_not_enlarged() -> None:
    vectors = np.full((5, 2, 3), 0.7, dtype=np.float32)
    vectors[0] += 1e-7
    vectors[:, 1] += np.arange(5, dtype=np.float32)[:, None] ** 2 * [1, 2, -1]
    below, top = project_layers(vectors)
    assert set(below.points) == {(0.0, 0.0)} and below.variance == (0.0, 0.0)
    assert len(set(top.points)) == 5 and top.variance[0] > 0.99
