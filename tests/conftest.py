"""Fixtures that every folder of tests may use."""

from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

settings.register_profile(
    "elmokit",
    deadline=None,  # tests never depend on a clock
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("elmokit")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder ``shared`` beside the repository: published fixtures and real data."""
    path = Path(__file__).parents[2] / "shared"
    if not path.is_dir():
        pytest.skip(f"{path} is absent: published fixtures cannot be compared")
    return path


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(20180215)
