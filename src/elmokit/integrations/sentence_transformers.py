"""sentence-transformers: ELMo as the first module of a ``SentenceTransformer``.

    encoder = SentenceTransformer(modules=[ElmoModule("en-small")])
    encoder.encode(["I like apples."]).shape  # (1, 512)

It computes token and sentence vectors, so ``Pooling``, ``Dense`` or ``Normalize`` may follow.
Open a saved encoder with ``SentenceTransformer(path, trust_remote_code=True)``, which
sentence-transformers requires before it imports a module that is not its own.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from elmokit.embed.elmo import Elmo
from elmokit.embed.embedder import Embedder
from elmokit.embed.load import load
from elmokit.embed.mix import AnyMix, checked_mix, mix_layers, mixed_dim
from elmokit.embed.pooling import Pooling, is_forward, require_pooling
from elmokit.embed.sentences import all_tokens
from elmokit.errors import InputError, missing_extra
from elmokit.model.packing import find_places
from elmokit.model.scalar_mix import ScalarMix
from elmokit.tasks.layers.masked import masked_max, masked_mean
from elmokit.weights.names import ModelName
from elmokit.weights.native import write_native

try:
    from sentence_transformers.base.modules import InputModule
except ImportError:
    raise missing_extra("sentence-transformers", "sentence-transformers", "ElmoModule") from None

if TYPE_CHECKING:
    from typing import Self

MODEL_FOLDER = "elmo"


class ElmoModule(InputModule):
    """Texts -> token vectors and sentence vectors.

    Args:
        model: name or path of a model, or an ``Embedder``.
        mix: ``"learned"``, a scalar mix that starts as the average and is trained with the
            following modules; or a fixed one: ``"average"``, ``"sum"``, ``"top"``, ``"concat"`` or
            the number of a layer.
        pooling: how tokens are pooled into a sentence vector: ``"mean"``, ``"max"`` or ``"ends"``.
        trainable: also train the biLM.
    """

    config_file_name = "elmo_module.json"
    config_keys = ["mix", "pooling", "trainable", "mix_weights", "mix_gamma"]  # noqa: RUF012

    def __init__(
        self,
        model: Embedder | ModelName = None,
        *,
        mix: str | int = "learned",
        pooling: Pooling = "mean",
        trainable: bool = False,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.embedder = model if isinstance(model, Embedder) else load(model)
        require_pooling(pooling)
        self.mix: Any = mix if mix == "learned" else checked_mix(mix, self.embedder.num_layers)  # type: ignore[arg-type]
        self.pooling = pooling
        self.trainable = trainable
        self.elmo = Elmo(
            self.embedder, dropout=0.0, trainable=trainable, trainable_mix=mix == "learned"
        )

    @property
    def scalar_mix(self) -> ScalarMix:
        """The mix that ``mix="learned"`` trains."""
        mix = self.elmo.mixes[0]
        assert isinstance(mix, ScalarMix)
        return mix

    @property
    def mix_weights(self) -> list[float]:
        """Weights of the learned mix, before the softmax."""
        weights: list[float] = self.scalar_mix.raw_weights.tolist()
        return weights

    @property
    def mix_gamma(self) -> float:
        """Scale of the learned mix."""
        return self.scalar_mix.gamma.item()

    def get_embedding_dimension(self) -> int:
        """Width of token vectors and of sentence vectors."""
        mix: AnyMix = "average" if self.mix == "learned" else self.mix
        return mixed_dim(mix, self.embedder.num_layers, self.embedder.dim)

    def preprocess(
        self, inputs: Sequence[Any], prompt: str | None = None, **settings: Any
    ) -> dict[str, Any]:
        """Turn texts (or lists of tokens) into the features that ``forward`` reads."""
        if any(isinstance(text, (dict, tuple)) for text in inputs):
            raise InputError("ElmoModule encodes single texts, not pairs or other modalities")
        texts = [prompt + text if prompt and isinstance(text, str) else text for text in inputs]
        tokens = list(all_tokens(texts))
        _, rows, lengths = find_places(tokens, self.embedder.indexer)
        is_token = torch.arange(rows.shape[1]) < torch.tensor(lengths)[:, None]
        # input_ids: the row of each token in the batch; the Trainer expects this name.
        return {"input_ids": rows, "attention_mask": is_token.long(), "tokens": tokens}

    def forward(self, features: dict[str, Any], **settings: Any) -> dict[str, Any]:
        """Add ``token_embeddings`` (B, T, D) and ``sentence_embedding`` (B, D)."""
        vectors = self._mixed(self._layers(features["tokens"]))
        mask = features["attention_mask"].bool()
        features["token_embeddings"] = vectors
        features["sentence_embedding"] = self._pooled(vectors, mask)
        return features

    def _layers(self, tokens: list[list[str]]) -> Tensor:
        if self.trainable and torch.is_grad_enabled():
            return self.elmo.layers(self.elmo.batch(tokens))
        return self.embedder.padded_layers(tokens)  # with a word cache, unlike a biLM in training

    def _mixed(self, layers: Tensor) -> Tensor:
        if self.mix == "learned":
            return self.elmo.mix(layers)[0]
        return mix_layers(layers, self.mix)

    def _pooled(self, vectors: Tensor, mask: Tensor) -> Tensor:
        if not mask.any():
            return vectors.new_zeros(len(vectors), vectors.shape[2])
        if self.pooling == "mean":
            return masked_mean(vectors, mask)
        if self.pooling == "max":
            return masked_max(vectors, mask)
        forward = torch.from_numpy(is_forward(vectors.shape[2], self.embedder.dim))
        last = (mask.sum(dim=1) - 1).clamp(min=0)
        at_last = vectors[torch.arange(len(vectors), device=vectors.device), last]
        return torch.where(forward.to(vectors.device), at_last, vectors[:, 0])

    def save(self, output_path: str, *args: Any, **settings: Any) -> None:
        """Write the settings, and the model as a folder that ``elmokit.load`` reads."""
        self.save_config(output_path)
        pretrained = replace(self.embedder.pretrained, output_words=None)
        write_native(pretrained, Path(output_path) / MODEL_FOLDER)

    @classmethod
    def load(
        cls,
        model_name_or_path: str,
        subfolder: str = "",
        token: bool | str | None = None,
        cache_folder: str | None = None,
        revision: str | None = None,
        local_files_only: bool = False,
        init_defaults: dict[str, Any] | None = None,
        **settings: Any,
    ) -> "Self":
        """Read what ``save`` wrote, from a folder or from the Hub."""
        where: dict[str, Any] = {
            "token": token,
            "cache_folder": cache_folder,
            "revision": revision,
            "local_files_only": local_files_only,
        }
        config = cls.load_config(model_name_or_path, subfolder=subfolder, **where)
        folder = cls.load_dir_path(
            model_name_or_path, subfolder=os.path.join(subfolder, MODEL_FOLDER), **where
        )
        if folder is None:
            raise InputError(
                f"{model_name_or_path}: there is no {MODEL_FOLDER}/ with a model in it"
            )
        weights, gamma = config.pop("mix_weights"), config.pop("mix_gamma")
        module = cls(folder, **config)
        with torch.no_grad():
            module.scalar_mix.raw_weights.copy_(torch.tensor(weights))
            module.scalar_mix.gamma.fill_(gamma)
        return module
