"""Hugging Face Hub: ``save_pretrained``, ``push_to_hub`` and ``from_pretrained``.

    model = ElmoModel("en-small")
    model.push_to_hub("user/en-small")
    ElmoModel.from_pretrained("user/en-small").embedder

What is written is elmokit's own format with a model card, so that ``elmokit.load("user/en-small")``
and every command that takes a MODEL read it too.
"""

import copy
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from elmokit.embed.embedder import Embedder
from elmokit.embed.load import load
from elmokit.embed.sentences import Sentence
from elmokit.errors import missing_extra
from elmokit.weights.folders import MODEL_FILES
from elmokit.weights.info import info
from elmokit.weights.names import HUB_FILES, ModelName

try:
    from huggingface_hub import ModelCard, PyTorchModelHubMixin, snapshot_download
except ImportError:
    raise missing_extra("huggingface-hub", "hub", "ElmoModel") from None

PAPER = "https://arxiv.org/abs/1802.05365"
LICENCE_IDS = ("apache-2.0", "mit", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc0-1.0")
"""Licences that have an identifier on the Hub; others are described in the card's text."""
LANGUAGE_CODES = {"english": "en"}


class ElmoModel(
    nn.Module,
    PyTorchModelHubMixin,
    library_name="elmokit",
    pipeline_tag="feature-extraction",
    paper_url=PAPER,
    tags=["elmo", "bilm"],
):
    """A pretrained biLM with the usual interface of models on the Hub.

    Args:
        elmo: name or path of a model, or an ``Embedder``.
        device: where the model runs.

    ``model.embedder`` embeds; ``elmokit.Elmo(model.embedder)`` is the module for a task model.
    """

    # Not named "model", because the mixin would set it from the key "model" of config.json.
    def __init__(self, elmo: Embedder | ModelName = None, *, device: str = "cpu") -> None:
        super().__init__()
        self.embedder = elmo if isinstance(elmo, Embedder) else load(elmo, device=device)
        self.bilm = self.embedder.bilm
        self._hub_mixin_config = None  # config.json is elmokit's own

    def forward(self, sentences: list[Sentence]) -> Tensor:
        """All layers of sentences, (B, L + 1, T, D), zero beyond each sentence's length."""
        return self.embedder.padded_layers(sentences)

    def _save_pretrained(self, save_directory: Path) -> None:
        """Write elmokit's files; other files in the folder, such as .gitattributes, are kept."""
        with tempfile.TemporaryDirectory(dir=save_directory, prefix=".elmokit-") as aside:
            self.embedder.save(Path(aside) / "model")
            written = {path.name for path in Path(aside, "model").iterdir()}
            for name in MODEL_FILES - written:
                (save_directory / name).unlink(missing_ok=True)
            for name in sorted(written):
                os.replace(Path(aside, "model", name), save_directory / name)

    @classmethod
    def _from_pretrained(
        cls,
        *,
        model_id: str,
        revision: str | None,
        cache_dir: str | Path | None,
        force_download: bool,
        local_files_only: bool,
        token: str | bool | None,
        map_location: str | torch.device = "cpu",
        **settings: Any,
    ) -> "ElmoModel":
        folder = model_id
        if not Path(model_id).is_dir():
            folder = snapshot_download(
                model_id,
                revision=revision,
                cache_dir=cache_dir,
                force_download=force_download,
                local_files_only=local_files_only,
                token=token,
                allow_patterns=list(HUB_FILES),
            )
        return cls(folder, **{"device": str(map_location), **settings})

    def generate_model_card(self, *args: Any, **settings: Any) -> ModelCard:
        """The README of the model's own folder if it has one, otherwise the output of ``info``."""
        facts = info(self.embedder.pretrained)
        data = copy.deepcopy(self._hub_mixin_info.model_card_data)
        licence = (facts.licence or "").lower()
        data.license = licence if licence in LICENCE_IDS else "other"
        language = facts.card.get("language", "").lower()
        code = LANGUAGE_CODES.get(language, language)
        data.language = code if len(code) in (2, 3) else None
        own = self._own_card()
        ours = [part for part in (_USAGE, _PAPER) if part not in own]  # there if it was pushed once
        return ModelCard("\n\n".join([f"---\n{data.to_yaml()}\n---", own, *ours]))

    def _own_card(self) -> str:
        readme = Path(self.embedder.source) / "README.md"
        if readme.is_file():
            text = readme.read_text(encoding="utf-8")
            return _FRONT_MATTER.sub("", text).strip()
        lines = info(self.embedder.pretrained).lines()[1:]  # not the path on this machine
        return f"# {self.embedder.name}\n\n" + "\n".join(f"    {line}" for line in lines)


_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_USAGE = """## Use

```python
import elmokit  # pip install 'elmokit[hub]'

elmo = elmokit.load("USER/MODEL")  # the id of this repository
vectors = elmo.embed(["I like apples."])  # one array (tokens, dimensions) per sentence
```"""
_PAPER = f"A biLM for ELMo (Peters et al. 2018, {PAPER}), in the format of elmokit."
