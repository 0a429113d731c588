"""The two encoders elmokit is measured against: same sizes, random weights, plain PyTorch."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from elmokit.config import LstmConfig, ModelConfig
from elmokit.embed.chunks import chunks_of
from elmokit.embed.embedder import BATCH_TOKENS
from elmokit.embed.word_cache import WordCache
from elmokit.model.token_encoder import TokenEncoder
from elmokit.text.token_ids import TokenIndexer

FILE_ORDER_BATCH = 64
"""What AllenNLP's ``elmo`` command runs at once unless told otherwise."""


class StepCell(nn.Module):
    """One projected, clipped LSTM layer, a step at a time over a padded batch."""

    def __init__(self, config: LstmConfig, is_forward: bool) -> None:
        super().__init__()
        self.config, self.is_forward = config, is_forward
        self.input_linear = nn.Linear(config.projection_dim, 4 * config.dim, bias=False)
        self.state_linear = nn.Linear(config.projection_dim, 4 * config.dim)
        self.projection = nn.Linear(config.dim, config.projection_dim, bias=False)

    def forward(self, inputs: Tensor, lengths: Sequence[int]) -> Tensor:
        """(B, T, P), sorted by falling length; rows that have ended take no part in a step."""
        batch, steps, _ = inputs.shape
        dim, clip = self.config.dim, 3.0
        result = inputs.new_zeros(batch, steps, self.config.projection_dim)
        hidden = inputs.new_zeros(batch, self.config.projection_dim)
        cell = inputs.new_zeros(batch, dim)
        for step in range(steps) if self.is_forward else reversed(range(steps)):
            running = sum(length > step for length in lengths)
            projected_input = self.input_linear(inputs[:running, step])
            projected_state = self.state_linear(hidden[:running].clone())
            gate_in, gate_forget, candidate, gate_out = (
                squash(
                    projected_input[:, number * dim : (number + 1) * dim]
                    + projected_state[:, number * dim : (number + 1) * dim]
                )
                for number, squash in enumerate(
                    (torch.sigmoid, torch.sigmoid, torch.tanh, torch.sigmoid)
                )
            )
            new_cell = gate_in * candidate + gate_forget * cell[:running].clone()
            new_cell = torch.clamp(new_cell, -clip, clip)
            output = torch.clamp(self.projection(gate_out * torch.tanh(new_cell)), -clip, clip)
            cell, hidden = cell.clone(), hidden.clone()
            cell[:running], hidden[:running] = new_cell, output
            result[:running, step] = output
        return result


class FileOrder(nn.Module):
    """(a) Padded batches in file order, the character CNN on every token, a loop over steps.

    This is how AllenNLP's ``ElmoEmbedder`` works: a batch of 64 sentences is sorted inside and
    its ended rows leave the loop, but every place of the padded batch, markers and padding too,
    goes through the CNN with all 50 characters.
    """

    def __init__(self, config: ModelConfig, indexer: TokenIndexer) -> None:
        super().__init__()
        self.indexer = indexer
        self.encoder = TokenEncoder(config)
        self.sides = nn.ModuleList(
            nn.ModuleList(StepCell(config.lstm, is_forward) for _ in range(2))
            for is_forward in (True, False)
        )

    @torch.no_grad()
    def run(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        results = []
        for start in range(0, len(sentences), FILE_ORDER_BATCH):
            results += self._batch(sentences[start : start + FILE_ORDER_BATCH])
        return results

    def _batch(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        order = sorted(range(len(sentences)), key=lambda number: -len(sentences[number]))
        lengths = [len(sentences[number]) + 2 for number in order]
        characters = torch.zeros(len(order), lengths[0], 50, dtype=torch.long)
        for row, number in enumerate(order):
            wrapped = [self.indexer.begin, *sentences[number], self.indexer.end]
            ids = self.indexer.encode(wrapped).characters
            assert ids is not None
            characters[row, : len(wrapped)] = ids
        tokens = self._every_token(characters)  # (B, T + 2, P)
        layers = [torch.cat([tokens, tokens], dim=-1)]
        forward = backward = tokens
        for number in range(2):
            forward_side, backward_side = self.sides[0], self.sides[1]
            assert isinstance(forward_side, nn.ModuleList)
            assert isinstance(backward_side, nn.ModuleList)
            before = forward, backward
            forward = forward_side[number](forward, lengths)
            backward = backward_side[number](backward, lengths)
            if number > 0:
                forward, backward = forward + before[0], backward + before[1]
            layers.append(torch.cat([forward, backward], dim=-1))
        stacked = torch.stack(layers, dim=1)  # (B, 3, T + 2, D)
        results = {
            number: stacked[row, :, 1 : lengths[row] - 1].clone()
            for row, number in enumerate(order)
        }
        return [results[number] for number in range(len(order))]

    def _every_token(self, characters: Tensor) -> Tensor:
        cnn, projection = self.encoder.char_cnn, self.encoder.projection
        assert cnn is not None and projection is not None
        letters = cnn.embedding(characters.flatten(0, 1)).transpose(1, 2)  # all 50 of each
        found = [torch.relu(torch.max(conv(letters), dim=-1)[0]) for conv in cnn.convolutions]
        features = torch.cat(found, dim=-1)
        for highway in cnn.highways:
            features = highway(features)
        return projection(features).view(*characters.shape[:2], -1)


class LibraryLstm(nn.Module):
    """(b) torch.nn.LSTM(proj_size=...) on sorted chunks, with elmokit's word cache.

    It has no clipping, so it computes a little less than the biLM.
    """

    def __init__(self, config: ModelConfig, indexer: TokenIndexer) -> None:
        super().__init__()
        self.indexer = indexer
        self.encoder = TokenEncoder(config)
        self.cache = WordCache(self.encoder, indexer)
        size, dim = config.lstm.projection_dim, config.lstm.dim
        self.layers = nn.ModuleList(
            nn.ModuleList(
                nn.LSTM(size, dim, proj_size=size, batch_first=True) for _side in range(2)
            )
            for _layer in range(2)
        )

    @torch.no_grad()
    def run(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        results: dict[int, Tensor] = {}
        for chunk in chunks_of([len(sentence) for sentence in sentences], BATCH_TOKENS):
            some = [sentences[number] for number in chunk]
            rows: dict[str, int] = {self.indexer.begin: 0, self.indexer.end: 1}
            lengths = [len(sentence) + 2 for sentence in some]
            index = torch.zeros(2, len(some), lengths[0], dtype=torch.long)
            for number, sentence in enumerate(some):
                found = [rows.setdefault(token, len(rows)) for token in sentence]
                index[0, number, : len(found) + 2] = torch.tensor([0, *found, 1])
                index[1, number, : len(found) + 2] = torch.tensor([1, *reversed(found), 0])
            table = self.cache.vectors(list(rows))
            layers = self._layers(table[index[0]], table[index[1]], lengths)
            for number, sentence, array in zip(chunk, some, layers, strict=True):
                results[number] = array[:, 1 : len(sentence) + 1].clone()
        return [results[number] for number in range(len(sentences))]

    def _layers(self, forward: Tensor, backward: Tensor, lengths: Sequence[int]) -> Tensor:
        steps = torch.arange(lengths[0])
        sizes = torch.tensor(lengths)[:, None]
        turn = torch.where(steps < sizes, sizes - 1 - steps, steps)[:, :, None]  # (B, T, 1)
        layers = [torch.cat([forward, forward], dim=-1)]
        for number, pair in enumerate(self.layers):
            assert isinstance(pair, nn.ModuleList)
            outputs = []
            for lstm, inputs in zip(pair, (forward, backward), strict=True):
                packed = pack_padded_sequence(inputs, torch.tensor(lengths), batch_first=True)
                output, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)
                outputs.append(output + inputs if number > 0 else output)
            forward, backward = outputs
            layers.append(torch.cat([forward, backward.gather(1, turn.expand_as(backward))], -1))
        return torch.stack(layers, dim=1)
