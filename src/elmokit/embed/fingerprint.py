"""A checksum of all that decides a model's vectors, for caches and result tables."""

import hashlib
import json

from elmokit.config import to_dict
from elmokit.model.bilm import BiLm
from elmokit.text.characters import UnicodeCharacters
from elmokit.text.token_ids import TokenIndexer


def fingerprint(bilm: BiLm, indexer: TokenIndexer) -> str:
    """Sixteen hexadecimal digits of SHA-256 over config, spelling and weights."""
    characters = indexer.characters
    spelling = {
        "config": to_dict(bilm.config),
        "characters": type(characters).__name__,
        "max_characters": characters.max_characters if characters else None,
        "dictionary": characters.dictionary if isinstance(characters, UnicodeCharacters) else None,
        "words": indexer.word_ids,
        "unknown": indexer.unknown_word,
        "markers": [indexer.begin, indexer.end],
    }
    digest = hashlib.sha256(json.dumps(spelling, sort_keys=True).encode())
    for name, weight in sorted(bilm.state_dict().items()):
        digest.update(f"{name} {tuple(weight.shape)} {weight.dtype}".encode())
        digest.update(weight.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()[:16]
