"""THE BUDGET OF A RUN: how many steps it may take, and which part of the text each one reads."""

import itertools
import math
from collections.abc import Iterator

from elmokit.errors import InputError
from elmokit.pretrain.config import TrainConfig
from elmokit.pretrain.training.windows import Windows


class Budget:
    """Steps of a run, as ``num_epochs``, ``max_tokens`` and ``skip_tokens`` say."""

    def __init__(self, windows: Windows, config: TrainConfig) -> None:
        self.tokens_per_step = config.batch_size * config.window
        self.skipped_steps = config.skip_tokens // self.tokens_per_step
        num_epochs = math.ceil(config.num_epochs)
        self.epoch_steps = [windows.full_steps(epoch) for epoch in range(num_epochs)]
        if min(self.epoch_steps) == 0:
            raise InputError(
                f"the training text is too short for {config.batch_size} streams of windows of "
                f"{config.window} tokens: lower train.batch_size or train.window"
            )
        unused = num_epochs - config.num_epochs
        total = sum(self.epoch_steps) - int(unused * self.epoch_steps[-1]) - self.skipped_steps
        if self.skipped_steps and total < 1:
            raise InputError(
                f"train.skip_tokens = {config.skip_tokens:,} leaves nothing of the "
                f"{config.num_epochs:g} epochs to train on"
            )
        if config.max_tokens is not None:
            total = min(total, -(-config.max_tokens // self.tokens_per_step))
        self.total_steps = max(1, total)

    def positions(self, done: int) -> Iterator[tuple[int, int]]:
        """(epoch, step in it) of every step that is left after ``done`` steps."""
        every = (
            (epoch, step) for epoch, steps in enumerate(self.epoch_steps) for step in range(steps)
        )
        return itertools.islice(
            every, self.skipped_steps + done, self.skipped_steps + max(done, self.total_steps)
        )

    def epoch(self, step: int) -> float:
        """How often the text has been read after ``step`` steps."""
        return (self.skipped_steps + step) / self.epoch_steps[0]
