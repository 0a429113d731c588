"""Random models of every published variant, for hypothesis."""

from typing import NamedTuple

import torch
from hypothesis import strategies as st
from random_files import BilmTfSpec

from elmokit.weights.pretrained import PretrainedModel


class Level(NamedTuple):
    """How strong the weights are, and so what agreement can be asked for."""

    scale: float
    clips: tuple[float | None, ...]
    relative_rms: float | None = None  # None: 1e-5 absolute
    is_double: bool = False


GENTLE = Level(0.4, (None, 3.0, 3))
CLIPPED = Level(1.0, (None, 0.5, 0.25), relative_rms=1e-5)
WILD = Level(2.5, (None, 3.0, 0.5), relative_rms=1e-9, is_double=True)
"""So strong that small models are chaotic: float32 rounding grows, so float64 is compared."""
WORDS = ("<S>", "</S>", "<UNK>", "the", "cat", "naïve", "sat")


@st.composite
def bilm_tf_specs(draw: st.DrawFn, level: Level) -> BilmTfSpec:
    filters = draw(
        st.sampled_from([((1, 3), (2, 4), (3, 2)), ((2, 5),), ((7, 2), (1, 1)), ((1, 2), (4, 3))])
    )
    num_filters = sum(number for _, number in filters)
    dim = draw(st.integers(1, 7))
    num_layers = draw(st.integers(1, 3))
    words = draw(st.sampled_from([None, None, WORDS]))
    # P: its own width, as wide as the filters (no CNN_proj), or as wide as the cell (no W_P_0)
    projection_dim = draw(st.sampled_from([4, num_filters, dim]))
    return BilmTfSpec(
        num_layers=num_layers,
        dim=dim,
        projection_dim=projection_dim,
        has_skip=draw(st.booleans()),
        num_highway=draw(st.sampled_from([None, 0, 1, 2])),
        activation=draw(st.sampled_from(["relu", "tanh"])),
        filters=filters,
        embedding_dim=draw(st.integers(1, 5)),
        max_characters=draw(st.sampled_from([7, 11, 50])),
        num_characters=draw(st.sampled_from([261, 262])),
        character_rows=draw(st.sampled_from([261, 261, 262])),
        cell_clip=draw(st.sampled_from(level.clips)),
        proj_clip=draw(st.sampled_from(level.clips)),
        hide_nulls=draw(st.booleans()),
        lone_cell=num_layers == 1 and draw(st.booleans()),
        words=words,
        separate_embedding=words is not None and draw(st.booleans()),
        scale=level.scale,
        seed=draw(st.integers(0, 10_000)),
    )


def assert_same_weights(one: PretrainedModel, other: PretrainedModel) -> None:
    first, second = one.bilm.state_dict(), other.bilm.state_dict()
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name
    assert one.config == other.config
