from dataclasses import replace

import torch

from elmokit.embed.embedder import Embedder
from elmokit.tasks.config import ElmoConfig, TaskConfig, WordsConfig
from elmokit.tasks.data.roles import RoleExample
from elmokit.tasks.inputs.layer_cache import ComputedLayers
from elmokit.tasks.inputs.token_vectors import TokenVectors
from elmokit.tasks.inputs.word_vectors import build_word_table
from elmokit.tasks.models import srl
from elmokit.tasks.models.srl import SrlModel

EXAMPLE = RoleExample(
    ("Ann", "gave", "the", "dog", "up"), 1, ("B-ARG0", "B-V", "B-ARG1", "I-ARG1", "B-C-V")
)
SHORT = RoleExample(("Go", "!"), 0, ("B-V", "O"))


def small_model(elmo: Embedder) -> SrlModel:
    config = replace(srl.TASK.defaults().model, hidden_dim=7, num_layers=3, predicate_dim=4)
    whole = TaskConfig("srl", config, WordsConfig(dim=6, min_count=1), elmo=ElmoConfig("both"))
    words = build_word_table(whole.words, EXAMPLE.tokens)
    labels = srl.TASK.labels([EXAMPLE, SHORT])
    return SrlModel(config, TokenVectors(whole, words, ComputedLayers(elmo)), labels).eval()


def test_labels_hold_a_beginning_for_every_inside_and_the_outside() -> None:
    lonely = EXAMPLE._replace(tags=("I-ARG9",) * 5)
    assert srl.TASK.labels([lonely]) == ["B-ARG9", "I-ARG9", "O"]


def test_batch_mates_do_not_change_a_score(tiny_elmo: Embedder) -> None:
    model = small_model(tiny_elmo)
    torch.testing.assert_close(model([EXAMPLE, SHORT])[1, :2], model([SHORT])[0])


def test_the_scores_depend_on_which_token_is_the_predicate(tiny_elmo: Embedder) -> None:
    model = small_model(tiny_elmo)
    assert not torch.allclose(model([EXAMPLE]), model([EXAMPLE._replace(predicate=3)]))


def test_padding_adds_nothing_to_the_loss(tiny_elmo: Embedder) -> None:
    model = small_model(tiny_elmo)
    one, other = model.loss([EXAMPLE]), model.loss([SHORT])
    torch.testing.assert_close(model.loss([SHORT, EXAMPLE]), (5 * one + 2 * other) / 7)


def test_predictions_are_well_formed_even_when_scores_are_not(tiny_elmo: Embedder) -> None:
    model = small_model(tiny_elmo)
    with torch.no_grad():
        model.to_tags.bias[model.number_of["I-ARG1"]] = 50.0  # wants I everywhere
    (tags,) = model.predict([EXAMPLE])
    assert tags == ("B-ARG1",) + ("I-ARG1",) * 4


def test_roles_are_shown_in_brackets() -> None:
    assert EXAMPLE.tags is not None
    shown = srl.TASK.render(EXAMPLE, EXAMPLE.tags).plain
    assert shown == "[Ann ARG0] [gave V] [the dog ARG1] [up C-V]"
    assert srl.TASK.to_json(EXAMPLE, EXAMPLE.tags)["spans"][2] == {
        "start": 2,
        "end": 4,
        "label": "ARG1",
        "text": "the dog",
    }


def test_the_predicate_is_shown_even_where_the_model_misses_it() -> None:
    assert srl.TASK.render(SHORT, ("O", "O")).plain == "[Go V] !"


def test_a_label_never_seen_in_training_is_a_miss() -> None:
    assert EXAMPLE.tags is not None
    strange = EXAMPLE._replace(tags=("B-NEW", *EXAMPLE.tags[1:]))
    assert srl.TASK.score([strange], [EXAMPLE.tags]).main == 50.0
