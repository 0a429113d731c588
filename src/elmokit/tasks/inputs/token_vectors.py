"""What every task model has at its input: [word vector; character CNN; ELMo], and ELMo' above.

    vectors = TokenVectors(config, words, source)
    tensors = vectors.tensors(sentences)             # lists of tokens -> ids and biLM layers
    inputs = vectors(tensors)                        # (B, T, input_dim)
    hidden = encoder(inputs)                         # (B, T, H)
    hidden = vectors.at_output(hidden, tensors)      # (B, T, vectors.output_dim(H))

The task model owns this module, so gamma and s are learned with the task. The biLM itself is not
in it: its layers come from a ``LayerSource`` and carry no gradient.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from elmokit.config import CharCnnConfig
from elmokit.errors import InputError
from elmokit.model.char_cnn import CharCnn
from elmokit.model.dropout import Dropout
from elmokit.model.packing import find_places
from elmokit.model.scalar_mix import ScalarMix, total_penalty
from elmokit.tasks.config import ElmoConfig, TaskConfig
from elmokit.tasks.inputs.word_vectors import RandomVectors, WordTable, WordVectors
from elmokit.text.token_ids import NUM_UTF8_CHARACTERS, Utf8Characters

Sentences = Sequence[Sequence[str]]


class LayerSource(Protocol):
    """A frozen biLM, or the cache of one."""

    num_layers: int
    """L + 1."""
    dim: int
    """D = 2P."""

    def layers(self, sentences: Sentences) -> Tensor:
        """(B, L + 1, T, D) on any device, zero beyond each sentence's length."""
        ...


class TokenTensors(NamedTuple):
    """A batch of B sentences, at most T tokens long."""

    words: Tensor  # (B, T): ids of WordTable; 0 where there is no token
    characters: Tensor | None  # (N, C): of the N distinct tokens
    spelling: Tensor | None  # (B, T): each token's row of ``characters``
    layers: Tensor | None  # (B, L + 1, T, D), or (B, 1, T, D) of the one layer in use
    lengths: Tensor  # (B,), on the CPU as packing wants it

    @property
    def mask(self) -> Tensor:
        """(B, T): where there is a token."""
        return self.words != 0


class TokenVectors(nn.Module):
    """Tokens -> task vectors; owns word vectors, character CNN and the two mixes."""

    def __init__(self, config: TaskConfig, words: WordTable, source: LayerSource | None) -> None:
        super().__init__()
        self.config = config.elmo
        self.word_table = words
        self.words = WordVectors(words)
        self.spell = Utf8Characters(config.characters.max_characters)
        self.char_cnn = _char_cnn(config) if config.characters.num_filters else None
        if config.elmo.where == "none":
            source = None
        elif source is None:
            raise InputError(f"elmo.where is {config.elmo.where!r}, but no ELMo model was given")
        self.source = source  # not a module: its weights are not the task's
        self.layer = _one_layer(config.elmo, source) if source else None
        self.elmo_dim = source.dim if source else 0
        rate, output_rate = config.elmo.dropout, config.elmo.output_dropout
        output_rate = rate if output_rate is None else output_rate
        where = config.elmo.where
        self.input_mix = _mix(config.elmo, source, rate) if where in ("input", "both") else None
        self.output_mix = (
            _mix(config.elmo, source, output_rate) if where in ("output", "both") else None
        )
        self.random = RandomVectors(config.elmo.random_dim) if config.elmo.random_dim else None
        self.random_dropout = Dropout(rate)
        self.input_dim = (
            self.words.dim
            + (self.char_cnn.output_dim if self.char_cnn is not None else 0)
            + (self.elmo_dim if self.input_mix is not None else 0)
            + config.elmo.random_dim
        )

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return next(self.parameters()).device

    def output_dim(self, hidden_dim: int) -> int:
        """The width that ``at_output`` makes of a ``hidden_dim``."""
        return hidden_dim + (self.elmo_dim if self.output_mix is not None else 0)

    def tensors(self, sentences: Sentences) -> TokenTensors:
        """Lists of tokens -> tensors on this module's device. T is at least 1."""
        tokens, rows, sizes = find_places(sentences)
        if not tokens:  # nothing but empty sentences
            tokens, rows = [""], rows.new_zeros(len(sentences), 1)
        lengths = torch.tensor(sizes, dtype=torch.long)
        ids = torch.tensor([self.word_table.id_of(token) for token in tokens])  # (N,)
        words = ids[rows] * (torch.arange(rows.shape[1]) < lengths[:, None])
        characters = spelling = None
        if self.char_cnn is not None:
            characters = torch.from_numpy(self.spell.encode(tokens)).to(self.device)
            spelling = rows.to(self.device)
        return TokenTensors(
            words.to(self.device), characters, spelling, self._layers(sentences), lengths
        )

    def forward(self, tensors: TokenTensors) -> Tensor:
        """(B, T, input_dim), zero where there is no token. Only ELMo's part has had dropout."""
        parts = [self.words(tensors.words)]
        if self.char_cnn is not None:
            assert tensors.characters is not None and tensors.spelling is not None
            letters = int((tensors.characters != tensors.characters[0, -1]).sum(dim=1).max())
            spelled = self.char_cnn(tensors.characters, longest=letters)  # (N, filters)
            parts.append(spelled[tensors.spelling] * tensors.mask[:, :, None])
        if self.input_mix is not None:
            assert tensors.layers is not None
            parts.append(self.input_mix(tensors.layers))
        if self.random is not None:
            parts.append(self.random_dropout(self.random(tensors.words)))
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)

    def at_output(self, hidden: Tensor, tensors: TokenTensors) -> Tensor:
        """[h; ELMo'] where the config asks for it, else ``hidden`` itself."""
        if self.output_mix is None:
            return hidden
        assert tensors.layers is not None
        return torch.cat([hidden, self.output_mix(tensors.layers)], dim=-1)

    def penalty(self) -> Tensor:
        """lambda * sum of ||s||^2 over the mixes in use; the fit loop adds it to the loss."""
        mixes = [mix for mix in (self.input_mix, self.output_mix) if mix is not None]
        if not mixes:
            return torch.zeros((), device=self.device)
        return self.config.l2 * total_penalty(mixes)

    def _layers(self, sentences: Sentences) -> Tensor | None:
        if self.input_mix is None and self.output_mix is None:
            return None
        assert self.source is not None
        layers = self.source.layers(sentences)
        if self.layer is not None:
            layers = layers[:, self.layer : self.layer + 1]
        if layers.shape[2] == 0:  # nothing but empty sentences
            layers = layers.new_zeros(*layers.shape[:2], 1, layers.shape[3])
        return layers.to(self.device)


def _char_cnn(config: TaskConfig) -> CharCnn:
    characters = config.characters
    return CharCnn(
        CharCnnConfig(
            num_characters=NUM_UTF8_CHARACTERS,
            embedding_dim=characters.dim,
            filters=tuple((width, characters.num_filters) for width in characters.widths),
            max_characters=characters.max_characters,
            num_highway=0,
        )
    )


def _one_layer(config: ElmoConfig, source: LayerSource) -> int | None:
    if config.layers in ("mix", "average"):
        return None
    number = source.num_layers - 1 if config.layers == "top" else int(config.layers)
    if number >= source.num_layers:
        raise InputError(
            f"elmo.layers = {number}: this model's layers are 0 to {source.num_layers - 1}"
        )
    return number


def _mix(config: ElmoConfig, source: LayerSource | None, dropout: float) -> ScalarMix | None:
    if source is None:
        return None
    num_layers = source.num_layers if config.layers in ("mix", "average") else 1
    mix = ScalarMix(num_layers, layer_norm=config.layer_norm, dropout=dropout)
    mix.raw_weights.requires_grad_(config.layers == "mix")
    return mix
