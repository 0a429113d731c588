"""AllenNLP's names: ``from elmokit.compat.allennlp import Elmo, batch_to_ids``.

No state is carried between calls, and layer norm looks at one token at a time: a sentence's
vectors do not depend on its batch or on what ran before.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm

from elmokit.embed.embedder import Embedder
from elmokit.embed.files.inputs import Item
from elmokit.embed.files.to_file import embed_to_file, parse_selection
from elmokit.embed.files.writers import Layout
from elmokit.embed.sentences import Vectors
from elmokit.errors import InputError
from elmokit.model.bilm import BiLm, runs_eagerly
from elmokit.model.packing import add_markers, batch_character_ids, batch_word_ids
from elmokit.text.token_ids import TokenIndexer, Utf8Characters
from elmokit.weights.load import load_pretrained
from elmokit.weights.pretrained import PretrainedModel

DEFAULT_BATCH_SIZE = 64


def batch_to_ids(batch: Sequence[Sequence[str]], max_characters: int = 50) -> Tensor:
    """(B, T, 50) character ids of tokenised sentences; zeros beyond the end of a sentence.

    ``max_characters`` is 50 in every published model; pass the model's own limit otherwise.

    >>> batch_to_ids([["First", "."], ["Another"]]).shape
    torch.Size([2, 2, 50])
    """
    characters = Utf8Characters(max_characters)
    shape = len(batch), max(map(len, batch), default=0), max_characters
    ids = torch.zeros(shape, dtype=torch.long)
    for row, sentence in enumerate(batch):
        ids[row, : len(sentence)] = torch.from_numpy(characters.encode(list(sentence)))
    return ids


class _Scalars(nn.Module):
    """Parameters named 0, 1, ...; a ParameterList would be empty in a DataParallel replica."""

    def __init__(self, values: Sequence[float], trainable: bool) -> None:
        super().__init__()
        self._count = len(values)
        for number, value in enumerate(values):
            parameter = nn.Parameter(torch.tensor([float(value)]), requires_grad=trainable)
            self.register_parameter(str(number), parameter)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> Tensor:
        scalar: Tensor = getattr(self, str(range(self._count)[number]))
        return scalar


class ScalarMix(nn.Module):
    """gamma * sum_k softmax(s)_k * tensor_k, under the parameter names of saved AllenNLP models."""

    def __init__(
        self,
        mixture_size: int,
        do_layer_norm: bool = False,
        initial_scalar_parameters: Sequence[float] | None = None,
        trainable: bool = True,
    ) -> None:
        super().__init__()
        initial = initial_scalar_parameters or [0.0] * mixture_size
        if len(initial) != mixture_size:
            raise ValueError(
                f"initial_scalar_parameters must have {mixture_size} values, got {len(initial)}"
            )
        self.mixture_size = mixture_size
        self.do_layer_norm = do_layer_norm
        self.scalar_parameters = _Scalars(initial, trainable)
        self.gamma = nn.Parameter(torch.tensor([1.0]), requires_grad=trainable)

    def forward(self, tensors: Sequence[Tensor], mask: Tensor | None = None) -> Tensor:
        """Tensors of one shape (..., D). ``mask`` is not needed: layer norm is per token here."""
        if len(tensors) != self.mixture_size:
            raise ValueError(f"expected {self.mixture_size} tensors, got {len(tensors)}")
        scalars = [self.scalar_parameters[number] for number in range(self.mixture_size)]
        weights = torch.cat(scalars).softmax(dim=0)
        if self.do_layer_norm:
            tensors = [layer_norm(tensor, tensor.shape[-1:]) for tensor in tensors]
        return self.gamma * torch.einsum("l,l...->...", weights, torch.stack(list(tensors)))


class Elmo(nn.Module):
    """AllenNLP's ``Elmo``, without the hidden state that AllenNLP kept between calls.

    ``elmo(character_ids)["elmo_representations"]`` is a list of (B, T, D) tensors.

    Works under ``nn.DataParallel`` (replicas are only tested on the CPU) and ``torch.compile``,
    under which the biLM runs eagerly and the mixes are compiled.

    ``module``: a ``BiLm`` or a ``PretrainedModel`` to use instead of the two files.
    """

    def __init__(
        self,
        options_file: str | Path | None,
        weight_file: str | Path | None,
        num_output_representations: int,
        requires_grad: bool = False,
        do_layer_norm: bool = False,
        dropout: float = 0.5,
        vocab_to_cache: Sequence[str] | None = None,
        keep_sentence_boundaries: bool = False,
        scalar_mix_parameters: Sequence[float] | None = None,
        module: BiLm | PretrainedModel | None = None,
    ) -> None:
        super().__init__()
        bilm, self._indexer = _bilm_and_indexer(options_file, weight_file, module)
        self._elmo_lstm = bilm.requires_grad_(requires_grad)
        self._dropout = nn.Dropout(dropout)
        self._keep_sentence_boundaries = keep_sentence_boundaries
        self._mixes = []
        for number in range(num_output_representations):
            mix = ScalarMix(
                bilm.num_layers,
                do_layer_norm=do_layer_norm,
                initial_scalar_parameters=scalar_mix_parameters,
                trainable=scalar_mix_parameters is None,
            )
            self.add_module(f"scalar_mix_{number}", mix)
            self._mixes.append(f"scalar_mix_{number}")
        cached = None if vocab_to_cache is None else self._encode_vocabulary(vocab_to_cache)
        self.register_buffer("_cached", cached, persistent=False)

    def get_output_dim(self) -> int:
        """D, the width of a representation."""
        return self._elmo_lstm.config.vector_dim

    def forward(self, inputs: Tensor | None, word_inputs: Tensor | None = None) -> dict[str, Any]:
        """``inputs`` (..., T, 50) character ids; the result has (..., T, D) and a mask (..., T).

        ``word_inputs`` (..., T): positions in ``vocab_to_cache``, 0 for padding. They are used
        if all of them are in that vocabulary.
        """
        layers, mask = self._layers_and_mask(inputs, word_inputs)
        given = word_inputs if inputs is None else inputs[..., 0]
        assert given is not None
        shape = *given.shape[:-1], mask.shape[1]
        mixed = [self.get_submodule(name)(layers.unbind(dim=1)) for name in self._mixes]
        return {
            "elmo_representations": [
                self._dropout(one * mask[:, :, None]).view(*shape, one.shape[-1]) for one in mixed
            ],
            "mask": mask.view(shape),
        }

    @runs_eagerly
    def _layers_and_mask(
        self, inputs: Tensor | None, word_inputs: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """(B, L + 1, T, D) and (B, T), whatever outer dimensions the inputs had."""
        if word_inputs is not None and self._is_cached(word_inputs):
            batch = batch_word_ids(word_inputs.flatten(0, -2), self._marker_rows())
            assert batch.ids.words is not None and isinstance(self._cached, Tensor)
            table = self._cached[batch.ids.words]
        elif inputs is not None:
            batch = batch_character_ids(inputs.flatten(0, -3), self._indexer)
            table = self._elmo_lstm.encoder(batch.ids)
        else:
            raise InputError("not all of these words are in vocab_to_cache; give character ids too")
        bilm, lengths = self._elmo_lstm, batch.lengths.tolist()
        if not self._keep_sentence_boundaries:
            return bilm.layers(table, batch.rows, lengths), batch.mask
        rows, with_markers = add_markers(batch.rows, lengths)
        layers: Tensor = bilm(table, rows, with_markers, bilm.zero_state(len(lengths))).layers
        return layers, batch._replace(rows=rows, lengths=batch.lengths + 2).mask

    def _encode_vocabulary(self, words: Sequence[str]) -> Tensor:
        """(V + 2, P): the words in order, then the two sentence markers."""
        with torch.no_grad():
            ids = self._indexer.encode([*words, self._indexer.begin, self._indexer.end])
            table: Tensor = self._elmo_lstm.encoder(ids.to(self._elmo_lstm.device))
        return table

    def _marker_rows(self) -> tuple[int, int]:
        assert isinstance(self._cached, Tensor)
        return len(self._cached) - 2, len(self._cached) - 1

    def _is_cached(self, words: Tensor) -> bool:
        if not isinstance(self._cached, Tensor):
            return False
        return words.numel() == 0 or int(words.max()) < len(self._cached) - 2


class ElmoEmbedder:
    """Computes the layers of tokenised sentences as NumPy arrays, each sentence on its own.

    Args:
        options_file: options.json of the model.
        weight_file: its .hdf5 weights, or any model that elmokit reads; without both files the
            model that ships with elmokit is used.
        cuda_device: the number of a GPU; -1 is the CPU.
    """

    def __init__(
        self,
        options_file: str | Path | None = None,
        weight_file: str | Path | None = None,
        cuda_device: int = -1,
    ) -> None:
        if options_file is not None and weight_file is None:
            raise InputError(f"{options_file}: options cannot be used alone; give weight_file too")
        pretrained = load_pretrained(weight_file, options=options_file, need_softmax=False)
        self.embedder = Embedder(pretrained)
        self.cuda_device = cuda_device
        if cuda_device >= 0:
            self.embedder.to(f"cuda:{cuda_device}")

    def embed_sentence(self, sentence: Sequence[str]) -> Vectors:
        """Return the layers (L + 1, T, D) of one tokenised sentence."""
        return self.embed_batch([sentence])[0]

    def embed_batch(self, batch: Sequence[Sequence[str]]) -> list[Vectors]:
        """Return one array (L + 1, T, D) per tokenised sentence, in order."""
        return self.embedder.layers(batch)

    def embed_sentences(
        self, sentences: Iterable[Sequence[str]], batch_size: int = DEFAULT_BATCH_SIZE
    ) -> Iterator[Vectors]:
        """Yield one array (L + 1, T, D) per sentence, in order.

        ``batch_size`` is accepted but has no effect: sentences are grouped by length.
        """
        return self.embedder.stream_layers(sentences)

    def batch_to_embeddings(self, batch: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """Padded layers (B, L + 1, T, D) and their mask (B, T)."""
        arrays = self.embed_batch(batch)
        longest = max(map(len, batch), default=0)
        layers = torch.zeros(len(batch), self.embedder.num_layers, longest, self.embedder.dim)
        mask = torch.zeros(len(batch), longest, dtype=torch.bool)
        for row, array in enumerate(arrays):
            layers[row, :, : array.shape[1]] = torch.from_numpy(array)
            mask[row, : array.shape[1]] = True
        return layers, mask

    def embed_file(
        self,
        input_file: Iterable[str],
        output_file_path: str | Path,
        output_format: str = "all",
        batch_size: int = DEFAULT_BATCH_SIZE,
        forget_sentences: bool = False,
        use_sentence_keys: bool = False,
    ) -> None:
        """One tokenised sentence per line -> HDF5 with the keys 0, 1, ...; blank lines are allowed.

        With ``use_sentence_keys`` a repeated sentence is written once (its vectors are the same),
        and a slash in a key becomes an underscore.
        """
        if output_format not in ("all", "top", "average"):
            raise InputError(f"output_format must be all, top or average, got {output_format!r}")
        embed_to_file(
            self.embedder,
            _items(input_file, use_sentence_keys),
            Path(output_file_path),
            parse_selection(output_format, self.embedder.num_layers),
            layout=Layout(keep_sentences=not (forget_sentences or use_sentence_keys)),
            kind=".hdf5",
        )


def _items(lines: Iterable[str], use_sentence_keys: bool) -> Iterator[Item]:
    written: set[str] = set()
    for number, line in enumerate(lines):
        text = line.strip()
        if use_sentence_keys and text in written:
            continue
        if use_sentence_keys:
            written.add(text)
        yield Item(text if use_sentence_keys else str(number), text, text.split())


def _bilm_and_indexer(
    options_file: str | Path | None,
    weight_file: str | Path | None,
    module: BiLm | PretrainedModel | None,
) -> tuple[BiLm, TokenIndexer]:
    if isinstance(module, BiLm):
        return module, TokenIndexer.utf8(_utf8_limit(module, "module"))
    if module is None:
        module = load_pretrained(weight_file, options=options_file, need_softmax=False)
    _utf8_limit(module.bilm, module.source)
    return module.bilm, module.indexer


def _utf8_limit(bilm: BiLm, where: str) -> int:
    """The maximum characters per token; refuses models that do not read UTF-8 characters."""
    cnn = bilm.config.char_cnn
    if cnn is None or bilm.config.words is not None or bilm.config.characters != "utf8":
        raise InputError(
            f"{where}: Elmo takes ids of UTF-8 characters, which this model does not read; "
            f"use elmokit.Elmo with elmokit.batch_tokens"
        )
    return cnn.max_characters
