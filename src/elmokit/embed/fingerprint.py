"""A checksum of everything that determines a model's vectors, for caches and result tables."""

import hashlib
import json

import torch
from torch import Tensor

from elmokit.model.kernels.lstm_weights import Precision
from elmokit.recipe import to_plain
from elmokit.text.token_ids import UnicodeCharacters
from elmokit.weights.pretrained import PretrainedModel


def fingerprint(model: PretrainedModel, precision: Precision = "float32") -> str:
    """Sixteen hexadecimal digits of SHA-256 over config, spelling, weights, precision, basis."""
    indexer, characters = model.indexer, model.indexer.characters
    facts = {
        "weights": checksum(model),
        "config": to_plain(model.bilm.config),
        "max_characters": characters.max_characters if characters else None,
        "characters": characters.dictionary if isinstance(characters, UnicodeCharacters) else None,
        "words": indexer.word_ids,
        "unknown": indexer.unknown_word,
        "longest_word": indexer.longest_word,
        "markers": [indexer.begin, indexer.end],
    }
    if precision != "float32":  # so that float32 fingerprints stay as in earlier versions
        facts["precision"] = precision
    if model.bilm.output_basis is not None:
        facts["basis"] = hashlib.sha256(_bytes_of(model.bilm.output_basis)).hexdigest()
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


@torch.no_grad()
def checksum(model: PretrainedModel) -> str:
    """SHA-256 of the biLM's weights in float32: the same in whatever format they are stored."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.bilm.state_dict().items()):
        digest.update(f"{name}{tuple(tensor.shape)}".encode())
        digest.update(_bytes_of(tensor))
    return digest.hexdigest()


def _bytes_of(tensor: Tensor) -> memoryview:
    return tensor.cpu().float().contiguous().numpy().data
