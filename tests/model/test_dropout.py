"""Dropout of our own: the rate, the scale, and nothing outside training."""

import pytest
import torch

from elmokit.model.dropout import Dropout, VariationalDropout


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_values_are_dropped_at_the_rate_and_the_rest_scaled_up(rate: float) -> None:
    torch.manual_seed(1)
    inputs = torch.full((50, 41, 97), 3.0, dtype=torch.float64)
    dropped = Dropout(rate)(inputs)
    is_kept = dropped != 0
    torch.testing.assert_close(dropped[is_kept].unique(), torch.tensor([3 / (1 - rate)]).double())
    assert is_kept.double().mean().item() == pytest.approx(1 - rate, abs=0.004)  # 5 deviations
    for neighbour in (1, 2, 3, 4):  # four decisions share a random number
        flat = is_kept.flatten()
        both = (flat[:-neighbour] & flat[neighbour:]).double().mean().item()
        assert both == pytest.approx((1 - rate) ** 2, abs=0.006)


def test_gradients_pass_where_values_were_kept() -> None:
    inputs = torch.ones(7, 5, 3, requires_grad=True)
    dropped = Dropout(0.5)(inputs)
    dropped.sum().backward()
    assert torch.equal(inputs.grad, dropped.detach())


def test_variational_dropout_drops_a_feature_at_every_token_of_a_sentence() -> None:
    dropped = VariationalDropout(0.5)(torch.ones(20, 6, 30))
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert 0 < (dropped[:, 0] == 0).sum() < 600


@pytest.mark.parametrize("kind", [Dropout, VariationalDropout])
def test_nothing_is_dropped_outside_training_or_at_rate_zero(kind: type[Dropout]) -> None:
    inputs = torch.ones(2, 3, 5)
    assert kind(0.7).eval()(inputs) is inputs
    assert kind(0.0)(inputs) is inputs


def test_the_same_seed_drops_the_same() -> None:
    torch.manual_seed(4)
    first = Dropout(0.5)(torch.ones(3, 5, 7))
    torch.manual_seed(4)
    assert torch.equal(Dropout(0.5)(torch.ones(3, 5, 7)), first)
