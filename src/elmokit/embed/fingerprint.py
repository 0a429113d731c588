"""A checksum of everything that determines a model's vectors, for caches and result tables."""

import hashlib
import json

from elmokit.model.kernels.lstm_weights import Precision
from elmokit.recipe import to_plain
from elmokit.text.token_ids import UnicodeCharacters
from elmokit.weights.info import checksum
from elmokit.weights.pretrained import PretrainedModel


def fingerprint(model: PretrainedModel, precision: Precision = "float32") -> str:
    """Sixteen hexadecimal digits of SHA-256 over config, spelling, weights and their precision."""
    indexer, characters = model.indexer, model.indexer.characters
    facts = {
        "weights": checksum(model),
        "config": to_plain(model.config),
        "max_characters": characters.max_characters if characters else None,
        "characters": characters.dictionary if isinstance(characters, UnicodeCharacters) else None,
        "words": indexer.word_ids,
        "unknown": indexer.unknown_word,
        "longest_word": indexer.longest_word,
        "markers": [indexer.begin, indexer.end],
    }
    if precision != "float32":  # so that float32 fingerprints stay as in earlier versions
        facts["precision"] = precision
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
