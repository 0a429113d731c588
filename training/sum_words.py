"""Let some cells of the first layers remember the words read: sums that fade.

    python training/sum_words.py MODEL --data CORPUS --vectors GLOVE --out OUT

An LSTM can hold a sum of the vectors of the words it has read: a cell whose forget gate stays near
one and whose input is a linear map of the token vector. Training hardly finds such cells. In each
direction of the first layer, those that the others can best replace become such sums, one for each
of the directions in which word vectors vary most (words count as in ``train.context``). Nothing
reads them yet: their rows of the projection are zero, and training fills them. See "Cells that
sum" in docs/reference/en-small.md.
"""

import argparse
import math
from pathlib import Path

import torch
from context_words import ContextWords, linear_map
from torch import Tensor

from elmokit.embed.embedder import Embedder
from elmokit.model.lstm import ProjectedLstm
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.export import first_sentences, settle_on
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import write_native

KEPT = 0.95
"""How much of the sum a step keeps: half of it is forgotten after 13 words."""
OPEN = 2.0
"""The bias of the gates that stay open: sigmoid(2) is 0.88."""
STEP = 0.15
"""Standard deviation of what a word adds; the sum stays where tanh is nearly linear."""
CELL_RIDGE = 0.001


def moments(layer: ProjectedLstm, sequences: list[Tensor]) -> Tensor:
    """(H, H): the mean products of the cells' outputs, over all tokens; with a little ridge."""
    weights = layer.weights()
    assert weights.projection is not None
    outputs = []
    for inputs in sequences:
        hidden, cell = inputs.new_zeros(inputs.shape[1]), inputs.new_zeros(layer.config.dim)
        for token in inputs @ weights.input_weight + weights.bias:
            i, f, o, j = (token + hidden @ weights.hidden_weight).chunk(4)
            cell = _clip(f.sigmoid() * cell + i.sigmoid() * j.tanh(), weights.cell_clip)
            outputs.append(o.sigmoid() * cell.tanh())
            hidden = _clip(outputs[-1] @ weights.projection, weights.projection_clip)
    found = torch.stack(outputs).double()
    products = found.t() @ found / len(found)
    return products + CELL_RIDGE * products.diagonal().mean() * torch.eye(len(products))


def _clip(values: Tensor, limit: float | None) -> Tensor:
    return values if limit is None else values.clamp(-limit, limit)


@torch.no_grad()
def free_cells(layer: ProjectedLstm, products: Tensor, number: int) -> Tensor:
    """The cells that the others can replace best; their part of the states goes to the others."""
    assert layer.projection is not None
    projection = layer.projection.double()
    own = 1 / torch.linalg.inv(products).diagonal()  # what no other cell tells
    order = (own * projection.square().sum(dim=1)).argsort()
    freed, others = order[:number], order[number:].sort().values
    shared = products[others][:, freed] @ projection[freed]
    moved = torch.linalg.solve(products[others][:, others], shared)
    layer.projection[others] += moved.float()
    layer.projection[freed] = 0.0
    return freed


@torch.no_grad()
def make_sums(layer: ProjectedLstm, cells: Tensor, readers: Tensor, constant: Tensor) -> None:
    """The cells (E,) become fading sums of x ``readers`` (P, E) + ``constant`` (E,)."""
    dim = layer.config.dim
    for weight in (layer.input_weight, layer.hidden_weight):
        weight.view(len(weight), 4, dim)[:, :, cells] = 0.0
    layer.input_weight[:, 3 * dim + cells] = readers
    forget = math.log(KEPT / (1 - KEPT)) - layer.config.forget_bias
    for gate, bias in enumerate((OPEN, forget, OPEN)):
        layer.bias[gate * dim + cells] = bias
    layer.bias[3 * dim + cells] = constant


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--cells", type=int, default=64)
    parser.add_argument("--sentences", type=int, default=4000)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    model, corpus = load_pretrained(options.model), Corpus.open(options.data)
    context_words = ContextWords(model, corpus, options.vectors)
    sentences = list(first_sentences(corpus, options.sentences))
    width = model.config.lstm.projection_dim
    tokens = [torch.from_numpy(one[0][:, :width]) for one in Embedder(model).layers(sentences)]
    words = torch.cat([context_words.of(sentence) for sentence in sentences])
    inputs = torch.cat(tokens)
    begin, end = model.bilm.encoder(model.indexer.encode(["<S>", "</S>"])).detach().split(1)
    marked = [torch.cat([begin, sequence, end]) for sequence in tokens[:1000]]
    centred, goals = inputs - inputs.mean(dim=0), words - words.mean(dim=0)
    readers, _ = linear_map(centred, goals)  # (P, E)
    told = centred @ readers
    _, directions = torch.linalg.eigh(told.t() @ told)  # by rising variance
    readers = readers @ directions[:, -options.cells :]
    readers *= STEP / (centred @ readers).std(dim=0)
    constant = -(inputs.mean(dim=0) @ readers)
    with torch.no_grad():
        for stack, sequences in (
            (model.bilm.forward_lstm, marked),
            (model.bilm.backward_lstm, [sequence.flip(0) for sequence in marked]),
        ):
            layer = stack.layers[0]
            assert isinstance(layer, ProjectedLstm)
            freed = free_cells(layer, moments(layer, sequences), readers.shape[1])
            make_sums(layer, freed, readers, constant)
    settle_on(model, corpus)
    write_native(model, options.out, "float16")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
