"""Attention and pooling under a mask: what stands in the padding never counts."""

import torch

from elmokit.tasks.layers.masked import masked_max, masked_mean, masked_softmax

MASK = torch.tensor([[True, True, False], [False, False, False]])
INPUTS = torch.tensor([[[-4.0, 1.0], [-2.0, 3.0], [9.0, 9.0]], [[9.0, 9.0]] * 3])  # (2, 3, 2)


def test_padding_has_no_weight_and_the_rest_sums_to_one() -> None:
    weights = masked_softmax(INPUTS[:, :, 0], MASK)
    expected = torch.tensor([-4.0, -2.0]).softmax(dim=0)
    torch.testing.assert_close(weights[0], torch.cat([expected, torch.zeros(1)]))
    assert weights[1].tolist() == [0, 0, 0]


def test_pooling_reads_tokens_alone_and_gives_zeros_where_there_are_none() -> None:
    assert masked_max(INPUTS, MASK).tolist() == [[-2, 3], [0, 0]]
    assert masked_mean(INPUTS, MASK).tolist() == [[-3, 2], [0, 0]]
