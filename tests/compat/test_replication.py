"""``nn.DataParallel`` without a GPU: the replicas it would make, side by side in threads."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from replicas import replica_of

from elmokit.compat.allennlp import Elmo, batch_to_ids

SENTENCES = [["First", "sentence", "."], ["Another", "."], ["a", "rose"], ["is", "a", "rose"]]


@pytest.mark.parametrize("requires_grad", [False, True])
def test_replicas_compute_their_part_of_a_batch(
    options_file: Path, weight_file: Path, requires_grad: bool
) -> None:
    elmo = Elmo(options_file, weight_file, 2, requires_grad=requires_grad, dropout=0.0)
    ids = batch_to_ids(SENTENCES)
    together = elmo(ids)["elmo_representations"][1]
    together.square().sum().backward()
    expected = {name: weight.grad for name, weight in elmo.named_parameters()}
    elmo.zero_grad()
    replicas = [replica_of(elmo), replica_of(elmo)]
    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(lambda replica, part: replica(part), replicas, ids.chunk(2)))
    vectors = torch.cat([part["elmo_representations"][1] for part in parts])
    torch.testing.assert_close(vectors, together, atol=1e-5, rtol=0)
    vectors.square().sum().backward()
    for name, weight in elmo.named_parameters():
        torch.testing.assert_close(weight.grad, expected[name], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_module_gives_the_same(
    options_file: Path, weight_file: Path, backend: str
) -> None:
    elmo = Elmo(options_file, weight_file, 1, dropout=0.0)
    compiled = torch.compile(elmo, backend=backend)
    for sentences in (SENTENCES, SENTENCES[1:3]):
        ids = batch_to_ids(sentences)
        torch.testing.assert_close(
            compiled(ids)["elmo_representations"][0], elmo(ids)["elmo_representations"][0]
        )
    torch._dynamo.reset()
