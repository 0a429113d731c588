"""How a model reads text that is not Wikipedia: perplexity on the test parts of EWT and SST.

    python benchmarks/quality/out_of_domain.py DATA [--model MODEL]

DATA holds the folders ewt and sst. Tokens are taken as they stand there, targets are the model's
own vocabulary, every sentence starts from a fresh state.
"""

import argparse
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from elmokit.analysis.probes.part_of_speech import read_pos_data
from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare
from elmokit.pretrain.perplexity import Perplexity, perplexity_of
from elmokit.tasks.data.sentiment import read_sentiment
from elmokit.weights.load import load_pretrained
from elmokit.weights.pretrained import PretrainedModel


def perplexity_on(
    model: PretrainedModel, sentences: Iterable[Sequence[str]], folder: Path
) -> Perplexity:
    assert model.output_words is not None
    text = folder / "text.txt"
    text.write_text("".join(" ".join(sentence) + "\n" for sentence in sentences))
    config = PrepareConfig(pretokenized=True, heldout=0.0)
    vocabulary = model.output_words.vocabulary
    prepare([text], folder / "data", config, vocabulary=vocabulary, quiet=True)
    return perplexity_of(model, folder / "data", "train", "fresh")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model")
    options = parser.parse_args()
    model = load_pretrained(options.model)
    texts = {
        "ewt": [sentence.tokens for sentence in read_pos_data(options.data / "ewt").test],
        "sst": [text.tokens for text in read_sentiment(options.data / "sst" / "test.txt")],
    }
    for name, sentences in texts.items():
        with tempfile.TemporaryDirectory() as folder:
            print(f"{name}: {perplexity_on(model, sentences, Path(folder))}", flush=True)


if __name__ == "__main__":
    main()
