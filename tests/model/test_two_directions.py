import os
import threading

import pytest
import torch

from elmokit.model.two_directions import run_both

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def two_threads() -> object:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def names(is_short: bool = False) -> tuple[str, str]:
    def name() -> str:
        return threading.current_thread().name

    return run_both(name, name, CPU, is_short)


def test_each_direction_has_a_thread_of_its_own() -> None:
    assert all(name.startswith("elmokit-direction") for name in names())
    assert torch.get_num_threads() == 2


def test_every_product_inside_uses_its_thread_alone() -> None:
    def count() -> int:
        torch.randn(300, 300) @ torch.randn(300, 300)
        return torch.get_num_threads()

    assert run_both(count, count, CPU) == (1, 1)
    assert torch.get_num_threads() == 2


def test_short_steps_stay_on_the_callers_thread() -> None:
    here = threading.current_thread().name
    assert names(is_short=True) == (here, here)


def test_one_direction_may_stay_on_the_callers_thread() -> None:
    def name() -> str:
        return threading.current_thread().name

    forward, backward = run_both(name, name, CPU, stays_here=True)
    assert forward == threading.current_thread().name
    assert backward.startswith("elmokit-direction")


def test_an_error_on_the_callers_thread_waits_for_the_other_direction() -> None:
    done: list[int] = []

    def fail() -> None:
        raise ValueError("here")

    with pytest.raises(ValueError, match="here"):
        run_both(fail, lambda: done.append(1), CPU, stays_here=True)
    assert done == [1]


def test_an_error_in_a_direction_reaches_the_caller() -> None:
    def fail() -> None:
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        run_both(lambda: 1, fail, CPU)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_makes_threads_of_its_own() -> None:
    assert names()
    child = os.fork()
    if child == 0:
        torch.set_num_threads(2)  # PyTorch gives a forked child one
        os._exit(0 if names()[0].startswith("elmokit-direction") else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_threads_of_the_user_keep_their_number_of_torch_threads() -> None:
    names()
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert found == [2]
