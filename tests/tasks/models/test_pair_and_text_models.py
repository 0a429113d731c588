"""ESIM and BCN: their shortcuts equal the plain form, and batches do not matter."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from elmokit.embed.embedder import Embedder
from elmokit.tasks.config import ElmoConfig, TaskConfig, WordsConfig
from elmokit.tasks.data.entailment import SentencePair
from elmokit.tasks.data.sentiment import SentimentText
from elmokit.tasks.inputs.layer_cache import ComputedLayers
from elmokit.tasks.inputs.token_vectors import TokenVectors
from elmokit.tasks.inputs.word_vectors import build_word_table
from elmokit.tasks.models import entailment, sentiment
from elmokit.tasks.models.entailment import EsimModel
from elmokit.tasks.models.sentiment import BcnModel

LONG, MIDDLE, SHORT = ("Ann", "gave", "the", "dog", "up"), ("a", "dog", "sat"), ("Go", "!")
LABELS = ["no", "perhaps", "yes"]


def vectors(elmo: Embedder) -> TokenVectors:
    torch.manual_seed(1)
    config = TaskConfig("any", None, WordsConfig(dim=6, min_count=1), elmo=ElmoConfig("both"))
    words = build_word_table(config.words, [*LONG, *MIDDLE, *SHORT])
    return TokenVectors(config, words, ComputedLayers(elmo))


def esim(elmo: Embedder) -> EsimModel:
    return EsimModel(
        replace(entailment.TASK.defaults().model, hidden_dim=7), vectors(elmo), LABELS
    ).eval()


def logits_of_pairs(elmo: Embedder, pairs: Sequence[tuple[Sequence[str], ...]]) -> Tensor:
    return esim(elmo)._logits([SentencePair(tuple(a), tuple(b), "no") for a, b in pairs])


def logits_of_texts(elmo: Embedder, texts: Sequence[Sequence[str]]) -> Tensor:
    config = replace(sentiment.TASK.defaults().model, hidden_dim=7, maxout_dims=(5,))
    model = BcnModel(config, vectors(elmo), LABELS).eval()
    return model._logits([SentimentText(tuple(text), "no") for text in texts])


@torch.no_grad()
def test_esim_compares_as_the_plain_projection_does(tiny_elmo: Embedder) -> None:
    model = esim(tiny_elmo)
    dim = model.project.in_features // 4
    x, aligned = torch.randn(5, dim), torch.randn(5, dim)
    joined = torch.cat([x, aligned, x - aligned, x * aligned], dim=-1)
    expected = torch.relu(model.project(joined))
    torch.testing.assert_close(model._compare(x, aligned), expected, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_esim_gives_a_pair_the_same_answer_in_any_batch(tiny_elmo: Embedder) -> None:
    pairs = [(SHORT, MIDDLE), (LONG, SHORT), (MIDDLE, LONG)]
    together = logits_of_pairs(tiny_elmo, pairs)
    alone = torch.cat([logits_of_pairs(tiny_elmo, [pair]) for pair in pairs])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(alone[0], alone[1], atol=1e-4)  # the answers do depend on the pair


@torch.no_grad()
def test_bcn_gives_a_text_the_same_answer_in_any_batch(tiny_elmo: Embedder) -> None:
    texts = [SHORT, LONG, MIDDLE]
    together = logits_of_texts(tiny_elmo, texts)
    alone = torch.cat([logits_of_texts(tiny_elmo, [text]) for text in texts])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(alone[0], alone[1], atol=1e-4)
