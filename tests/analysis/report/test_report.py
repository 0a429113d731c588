"""A report: computed once, section by section, and written as one page."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from elmokit.analysis import paper
from elmokit.analysis.encoders.bilm import untrained
from elmokit.analysis.encoders.opening import Models, open_encoder
from elmokit.analysis.experiments.layers import ALL_LAYERS
from elmokit.analysis.experiments.runs import GridResult, TaskRun, read_runs
from elmokit.analysis.experiments.sample_efficiency import Point, SampleEfficiency
from elmokit.analysis.experiments.table1 import SixTasks, TaskGain
from elmokit.analysis.lm.kneser_ney import Seen
from elmokit.analysis.lm.perplexities import ModelPerplexity, PerplexityResult, perplexity_table
from elmokit.analysis.output.results import Provenance, load_result, present, save_result
from elmokit.analysis.output.tables import Table
from elmokit.analysis.probes.mcnemar import McNemar
from elmokit.analysis.probes.part_of_speech import PosResult, PosScore
from elmokit.analysis.probes.senses import SenseScore, SensesResult
from elmokit.analysis.report import make
from elmokit.analysis.report.config import ReportConfig, parse_task_setting
from elmokit.analysis.report.findings import (
    all_layers_beat_the_last,
    context_helps_senses,
    context_helps_syntax,
    elmo_helps_at_every_share,
    elmo_needs_less_data,
    higher_layer_for_senses,
    lower_layer_for_syntax,
    lower_than_ngram,
    noise_of_tasks,
)
from elmokit.analysis.report.make import SECTIONS, find_sections, make_report
from elmokit.analysis.report.page import layers_table
from elmokit.analysis.report.section import Section, nothing
from elmokit.analysis.report.task_sections import Efficiency
from elmokit.analysis.report.verdicts import (
    Difference,
    deviation,
    noise,
    of_sample,
    of_seeds,
    verdict,
)
from elmokit.analysis.words.demo import demo
from elmokit.analysis.words.occurrences import Occurrence
from elmokit.analysis.words.sense_map import NO_SENSE, SensedOccurrence, SenseMap
from elmokit.cli import main
from elmokit.embed.load import load
from elmokit.errors import InputError
from elmokit.recipe import from_plain, to_plain
from elmokit.tasks.data.benchmark_sets import Splits
from elmokit.tasks.task import find_task
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel

RECIPE = """
model = { hidden_dim = 9 }
words = { dim = 8 }
characters = { num_filters = 0 }
fit = { learning_rate = 0.01, halve_after = 0, max_epochs = 2 }
"""
CONLLU = "".join(
    f"1\tthe\t_\t_\tDT\t_\t_\t_\t_\t_\n2\t{noun}\t_\t_\tNN\t_\t_\t_\t_\t_\n\n"
    for noun in ("dog", "cat", "sun", "sea", "day")
)


@pytest.fixture
def config(tmp_path: Path, tiny_elmo: Path) -> ReportConfig:
    (tmp_path / "data" / "ewt").mkdir(parents=True)
    for split in ("train", "dev", "test"):
        (tmp_path / "data" / "ewt" / f"x-{split}.conllu").write_text(CONLLU)
    (tmp_path / "text.txt").write_text("They play. A play ends. The day ends.\n")
    return ReportConfig(
        tmp_path / "report", tmp_path / "data", str(tiny_elmo), text=(str(tmp_path / "text.txt"),)
    )


def test_page_is_self_contained_and_has_every_section(config: ReportConfig) -> None:
    result = make_report(config, ["demo", "pos", "neighbours"], quiet=True)
    assert result.done == ["demo", "pos", "neighbours"]
    page = result.page.read_text()
    assert page.count("data:image/svg+xml;base64,") == 2
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    for words in (
        "Two occurrences of a word",
        "elmokit analyse pos",
        "Nearest occurrences",
        "paper",
        "11 tokens",
    ):
        assert words in page
    markdown = (config.out / "report.md").read_text()
    assert "![" in markdown
    assert (config.out / "figures" / "part-of-speech.png").exists()
    assert (config.out / "figures" / "part-of-speech.svg").exists()


@pytest.mark.slow
def test_task_sections_share_their_runs(
    config: ReportConfig, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = find_task("entailment").read(pairs)
    splits = Splits(examples[:14], examples[14:], examples[6:])
    monkeypatch.setattr("elmokit.tasks.grid.benchmark_splits", lambda name, root: splits)
    (config.data / "nli").mkdir()
    (config.data / "glove").write_text("a 1 0\n")
    settings = (("entailment", "data.train_limit=10"),)
    config = replace(config, tasks=("entailment",), task_settings=settings, seeds=1)
    names = ["tasks", "layers", "places", "efficiency", "mixes", "transfer"]
    config = replace(config, shares=(0.5, 1.0), tune=("train.batch_size=2",), table1_seeds=1)
    (tmp_path / "tiny.toml").write_text(RECIPE)
    config = replace(config, table1_tasks=("entailment",), recipe=str(tmp_path / "tiny.toml"))
    assert make_report(config, names, quiet=True).done == names
    runs = {run.variant for run in read_runs(config.grid("entailment").out).runs}
    assert len(runs) == 5 + 3 + 3  # layers, places, and 50 % twice and all with ELMo
    page = (config.out / "report.html").read_text()
    assert read_runs(config.table1_grid("entailment").out).variants == ["baseline", "elmo"]
    assert "100 % are 10 of the 14 training examples" in page
    for words in ("All layers, weighted", "ELMo needs less data", "helps every task", "72.1"):
        assert words in page
    assert (config.out / "figures" / "mix-weights.svg").exists()


def test_sections_that_lack_something_are_left_out_and_named(config: ReportConfig) -> None:
    result = make_report(config, ["senses", "perplexity", "layers"], quiet=True)
    assert result.done == []
    assert set(result.left_out) == {"senses", "perplexity", "layers"}
    assert "--corpus" in result.left_out["perplexity"]


def test_a_section_that_fails_does_not_end_the_report(
    config: ReportConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(settings: ReportConfig, models: Models, quiet: bool) -> object:
        raise InputError("this model has no softmax")

    sections = [SECTIONS["perplexity"]._replace(needs=nothing, compute=fail), SECTIONS["demo"]]
    monkeypatch.setattr(make, "find_sections", lambda names: sections)
    result = make_report(config, ["perplexity", "demo"], quiet=True)
    assert result.done == ["demo"]
    assert result.left_out == {"perplexity": "this model has no softmax"}
    for page in (result.page, config.out / "report.md"):
        assert (
            "Asked for, but not here: perplexity (this model has no softmax)." in page.read_text()
        )


def test_a_missing_file_is_named_and_a_section_that_is_there_still_shown(
    config: ReportConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(settings: ReportConfig, models: Models, quiet: bool) -> object:
        raise FileNotFoundError(2, "No such file or directory", "x.conllu")

    make_report(config, ["demo"], quiet=True)
    other = {"compute": fail, "depends_on": ("word",)}  # so that it is computed again
    sections = [SECTIONS["demo"]._replace(**other), SECTIONS["pos"]]
    monkeypatch.setattr(make, "find_sections", lambda names: sections)
    result = make_report(config, ["demo", "pos"], quiet=True)
    assert result.left_out == {"demo": "x.conllu: No such file or directory"}
    assert result.done == ["demo", "pos"]
    assert "not here" not in result.page.read_text()


def test_names_and_settings_of_tasks_are_checked_before_anything_is_computed(
    config: ReportConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = counting(config, monkeypatch)
    with pytest.raises(InputError, match="unknown task 'chess'"):
        make_report(replace(config, tasks=("chess",)), ["demo"], quiet=True)
    settings = (("srl", "fit.max_epoch=3"),)
    with pytest.raises(InputError, match="max_epoch"):
        make_report(replace(config, task_settings=settings), ["demo"], quiet=True)
    assert computed == []


def test_sections_of_another_model_are_named_not_shown(
    config: ReportConfig, tmp_path: Path
) -> None:
    make_report(config, ["demo", "pos"], quiet=True)
    tiny, other = load(config.model), tmp_path / "other"
    write_native(untrained(tiny.bilm.config, tiny.indexer, seed=2).embedder.pretrained, other)
    result = make_report(replace(config, model=str(other)), ["demo"], quiet=True)
    assert (result.done, result.of_another_model) == (["demo"], ["pos"])
    for page in (result.page, config.out / "report.md"):
        assert "Of another model, not shown: pos." in page.read_text()
        assert "part of speech" not in page.read_text()


def test_each_figure_is_drawn_once(config: ReportConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(
        "elmokit.analysis.report.page.write_pictures",
        lambda pictures, folder: drawn.extend(picture.name for picture in pictures),
    )
    make_report(config, ["demo", "pos"], quiet=True)
    assert drawn == ["demo", "part-of-speech"]


def counting(config: ReportConfig, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of sections, as they are computed."""
    computed: list[str] = []

    def wrap(section: Section) -> Section:
        def compute(settings: ReportConfig, models: Models, quiet: bool) -> object:
            computed.append(section.name)
            return section.compute(settings, models, quiet)

        return section._replace(compute=compute)

    wrapped = {name: wrap(section) for name, section in SECTIONS.items()}
    monkeypatch.setattr(make, "find_sections", lambda names: [wrapped[name] for name in names])
    return computed


def test_killed_report_goes_on_where_it_was(
    config: ReportConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = counting(config, monkeypatch)
    make_report(config, ["demo"], quiet=True)
    make_report(config, ["demo", "pos"], quiet=True)
    assert computed == ["demo", "pos"]
    make_report(replace(config, train_sentences=4), ["demo", "pos"], quiet=True)
    assert computed == ["demo", "pos", "pos"]  # demo does not depend on it
    assert make_report(config, None, quiet=True).done == ["demo", "pos"]


def test_same_results_give_the_same_page(config: ReportConfig) -> None:
    first = make_report(config, ["demo"], quiet=True).page.read_bytes()
    assert make_report(config, ["demo"], quiet=True).page.read_bytes() == first
    stored = config.out / "results" / "demo.json"
    stored.write_text(stored.read_text().replace('"layer_names"', '"names_of_layers"'))
    with pytest.raises(InputError, match="another version of elmokit; delete it"):
        make_report(config, ["demo"], quiet=True)


def test_unknown_section_is_refused() -> None:
    with pytest.raises(InputError, match="unknown section 'chess'"):
        find_sections(["chess"])
    with pytest.raises(InputError, match="TASK:TABLE"):
        parse_task_setting("fit.seed=1")
    assert parse_task_setting("srl:fit.seed=1") == ("srl", "fit.seed=1")


def test_results_come_back_with_their_types(tmp_path: Path) -> None:
    occurrences = (SensedOccurrence(Occurrence(["a", "play"], 1), NO_SENSE),)
    points = np.array([[1.0, 2.0]])
    result = SenseMap("play", "m", "layer 1", occurrences, points, (0.5, 0.25), 1)
    provenance = Provenance("occurrences", "1f2e", {"word": "play"})
    save_result(tmp_path, "elmokit analyse occurrences", provenance, result)
    stored = load_result(tmp_path, "occurrences")
    assert stored is not None
    again = from_plain(SenseMap, stored.value, "stored")
    assert again.occurrences == occurrences
    assert np.array_equal(again.points, points)
    assert load_result(tmp_path, "nothing") is None
    assert stored.provenance == provenance
    (tmp_path / "results" / "occurrences.json").write_text("{")
    with pytest.raises(InputError, match="not a stored result"):
        load_result(tmp_path, "occurrences")


def test_results_stored_under_former_names_are_still_read(
    config: ReportConfig, monkeypatch: pytest.MonkeyPatch, wsd: Path
) -> None:
    """The section "occurrences", its file and its fields were once called "uses"."""
    wsd.rename(config.data / "wsd")
    make_report(config, ["occurrences"], quiet=True)
    stored = config.out / "results" / "occurrences.json"
    text = stored.read_text()
    for now, former in (("occurrences", "uses"), ("occurrence", "use")):
        text = re.sub(rf"\b{now}\b", former, text)
    (config.out / "results" / "uses.json").write_text(text)
    stored.unlink()
    computed: list[str] = []
    section = SECTIONS["occurrences"]._replace(compute=lambda *given: computed.append("again"))
    monkeypatch.setattr(make, "find_sections", lambda names: [section])
    assert make_report(config, ["uses"], quiet=True).done == ["occurrences"]
    assert computed == []


def test_former_names_of_sections_are_accepted() -> None:
    assert [section.name for section in find_sections(["uses", "demo"])] == ["demo", "occurrences"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"key": 3}', '{"key": "[1]", "command": "", "value": {}}']
)
def test_a_damaged_result_is_named_with_the_cure(config: ReportConfig, text: str) -> None:
    make_report(config, ["demo"], quiet=True)
    (config.out / "results" / "demo.json").write_text(text)
    with pytest.raises(InputError, match=r"demo\.json: not a stored result.*delete the file"):
        make_report(config, None, quiet=True)


def test_stored_results_of_the_repository_are_read() -> None:
    folder = Path(__file__).parents[3] / "docs" / "report"
    shown = [name for name in SECTIONS if load_result(folder, name) is not None]
    assert {"demo", "senses", "pos", "tasks", "mixes"} <= set(shown)
    for name in shown:
        stored = load_result(folder, name)
        assert stored is not None
        result = from_plain(SECTIONS[name].kind, stored.value, name)
        assert SECTIONS[name].show(result).tables


def test_a_report_reads_the_model_once(
    config: ReportConfig, monkeypatch: pytest.MonkeyPatch, wsd: Path
) -> None:
    wsd.rename(config.data / "wsd")
    read: list[object] = []

    def counted(path: object, **options: object) -> PretrainedModel:
        read.append(str(path))
        return load_pretrained(config.model)

    monkeypatch.setattr("elmokit.analysis.encoders.opening.load_pretrained", counted)
    names = ["demo", "senses", "pos", "neighbours", "occurrences"]
    assert make_report(config, names, quiet=True).done == names
    assert read == [config.model]


def test_every_setting_of_a_report_is_an_option(
    config: ReportConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command on the page, typed again, makes the same settings."""
    changed = replace(
        config, corpus=Path("c"), seen=(Seen(5, 2, 1),), text=("a", "b"), text_tokens=7, word="run",
        table1_tasks=("ner",), table1_seeds=2, tasks=("srl", "ner"), shares=(0.5, 1.0),
        recipe="paper", task_settings=(("srl", "fit.seed=2"), ("ner", "fit.seed=3")),
        tune=("train.window=4",), seeds=1, max_minutes=2.5, has_layer_norm=True, jobs=2,
        train_sentences=3, semcor_sentences=4, device="cpu",
    )  # fmt: skip
    given: list[object] = []

    def note(settings: ReportConfig, sections: list[str]) -> make.ReportResult:
        given.extend([settings, sections])
        return make.ReportResult(config.out, [], {}, [])

    monkeypatch.setattr(make, "make_report", note)
    monkeypatch.setattr("sys.argv", shlex.split(changed.command(["pos", "demo"])))
    with pytest.raises(SystemExit):
        main()
    assert given == [changed, ["pos", "demo"]]
    assert f"--device {config.device}" not in changed.command()
    assert changed.words("has_layer_norm") == ("--layer-norm",)
    assert config.words("has_layer_norm") == ("--no-layer-norm",)


def test_every_section_shows_what_it_stores(config: ReportConfig) -> None:
    empty = Efficiency((), ())
    assert from_plain(Efficiency, to_plain(empty), "stored") == empty
    assert SECTIONS["efficiency"].show(empty).tables[0].rows == ()


def test_commands_can_be_copied(config: ReportConfig) -> None:
    (config.data / "glove").mkdir()
    settings = (parse_task_setting("srl:data.train_limit=30"),)
    config = replace(config, model="my model", tasks=("srl",), task_settings=settings)
    neighbours = SECTIONS["neighbours"].command(config).split("\n")
    assert neighbours[0] == (
        f"elmokit index {config.text[0]} --tokens 1000000 --model 'my model' -o INDEX"
    )
    assert len(neighbours) == 3
    assert neighbours[2].endswith(f"for Garson.' --model 'my model' --static {config.data}/glove")
    places = SECTIONS["places"].command(config)
    assert "--set data.train_limit=30 -o RUNS/srl-" in places
    table1 = SECTIONS["tasks"].command(config).split("\n")
    assert [line.split()[-1] for line in table1] == [f"RUNS/{task}" for task in paper.TASKS]
    mixes = SECTIONS["mixes"].command(replace(config, table1_tasks=("srl",))).split("\n")
    assert mixes[0] == places
    assert mixes[1].startswith("elmokit analyse mixes RUNS/srl-")
    assert config.command(["pos"]) == (
        f"elmokit report -o {config.out} --data {config.data} --model 'my model' --only pos "
        f"--text {config.text[0]} --tasks srl --set srl:data.train_limit=30"
    )


def test_settings_never_meet_the_runs_of_others(config: ReportConfig) -> None:
    assert config.grid("srl").out == config.table1_grid("srl").out == config.out / "runs" / "srl"
    changed = replace(config, task_settings=(parse_task_setting("srl:fit.seed=2"),))
    assert changed.table1_grid("srl").out == config.out / "runs" / "srl"
    folders = {
        changed.grid("srl").out,
        replace(config, recipe="paper").grid("srl").out,
        replace(config, max_minutes=5.0).grid("srl").out,
        config.grid("srl").out,
    }
    assert len(folders) == 4


POS = PosResult(
    (
        PosScore("m", "layer 1", {"all": 90.0}, 90.0, 1e-5),
        PosScore("m", "layer 2", {"all": 89.0}, 90.0, 1e-5),
    ),
    {"all": 10_000, "known": 0, "unknown": 0, "covered": 0},
    5,
)
SENSES = SensesResult(
    (
        SenseScore("WordNet first sense", "", {"four": 65.9}),
        SenseScore("m", "layer 1", {"four": 66.0}),
        SenseScore("m", "layer 2", {"four": 65.0}),
    ),
    {"four": 7000},
    {"four": 0},
    5,
)


def with_apart(result: PosResult, only_lower: int, only_upper: int) -> PosResult:
    apart = {"all": McNemar(only_lower, only_upper)}
    return replace(result, rows=(result.rows[0], result.rows[1]._replace(against_lower=apart)))


def test_layers_are_compared_in_words() -> None:
    syntax, meaning = lower_layer_for_syntax(POS, "m"), higher_layer_for_senses(SENSES, "m")
    assert syntax is not None
    assert syntax.verdict == "confirmed"
    assert meaning is not None
    assert meaning.verdict == "no clear difference"  # 1.0 of 7,000, whatever they share
    assert lower_layer_for_syntax(POS, "other") is None
    few = lower_layer_for_syntax(replace(POS, num_tokens={"all": 100}), "m")
    assert few is not None
    assert few.verdict == "no clear difference"


def test_layers_are_told_apart_by_the_tokens_that_only_one_gets_right() -> None:
    """100 more of 10,000: clear if 500 are in dispute (1.96 sqrt 500 = 44), not if 3,000 (107)."""
    clear = lower_layer_for_syntax(with_apart(POS, 300, 200), "m")
    unclear = lower_layer_for_syntax(with_apart(POS, 1550, 1450), "m")
    assert clear is not None
    assert unclear is not None
    assert (clear.verdict, unclear.verdict) == ("confirmed", "no clear difference")


def test_verdicts_weigh_every_difference() -> None:
    gain, tie, loss = (Difference(value, 1.0) for value in (3.0, 0.5, -3.0))
    assert verdict([gain, gain]) == "confirmed"
    assert verdict([gain, tie]) == "confirmed in part"
    assert verdict([gain, tie, loss]) == "mixed"
    assert verdict([loss, loss]) == "contradicted"
    assert verdict([tie]) == "no clear difference"


def test_one_seed_borrows_its_noise_or_has_none() -> None:
    with_two = of_seeds([5.0, 7.0], [1.0, 3.0], None)
    assert with_two == Difference(4.0, pytest.approx(4.303 * 2**0.5, rel=1e-3))  # t of 2 degrees
    borrowed = of_seeds([5.0], [3.0], deviation([[1.0, 3.0], [4.0]]))
    assert borrowed == Difference(2.0, pytest.approx(12.706 * 2, rel=1e-3), is_one_seed=True)
    assert verdict([borrowed]) == "no clear difference (one seed)"
    unknown = of_seeds([5.0], [3.0], deviation([[5.0], [3.0]]))
    assert verdict([unknown]) == "agrees (one seed)"
    assert verdict([unknown._replace(value=-2.0)]) == "disagrees (one seed)"
    assert "nothing is known of the noise" in noise([unknown])


def test_differences_seen_seed_by_seed_have_their_own_noise() -> None:
    assert of_sample([2.0, 4.0, 3.0]) == Difference(3.0, pytest.approx(4.303 / 3**0.5, rel=1e-3))
    assert of_sample([3.0]) == Difference(3.0, None, is_one_seed=True)


def test_less_data_must_do_what_more_did_without() -> None:
    points = (Point(0.01, 30, (20.0,), (40.0,)), Point(0.1, 300, (39.0,), (50.0,)))
    result = SampleEfficiency("srl", "F1", points, (), ())
    found = elmo_needs_less_data([result], None)
    assert found is not None
    assert found.verdict == "agrees (one seed)"
    assert "1 % with ELMo (40.0) reaches 10 % without (39.0)" in found.evidence
    helps = elmo_helps_at_every_share([result], None)
    assert helps is not None
    assert "+20.0 at 1 %, +11.0 at 10 %" in helps.evidence
    assert elmo_needs_less_data([replace(result, points=points[:1])], None) is None


def test_a_table_of_single_seeds_borrows_the_noise_of_table_1() -> None:
    gain = TaskGain("ner", "", "F1", 9, baseline=(1.0, 3.0, 2.0), elmo=(6.0, 4.0, 5.0))
    table1 = SixTasks((gain, gain._replace(test_set="other", elmo=(0.0, 90.0))), 0.0)
    margin = 2.776 * 2**0.5  # a deviation of 1 by 4 degrees, between two single runs
    runs = tuple(
        TaskRun("srl", variant, 1, "F1", dev, dev, 9)
        for variant, dev in ((ALL_LAYERS, 10.0 + margin), ("last only", 10.0))
    )
    for dev, verdict_then in (
        (9.9, "confirmed (one seed)"),
        (10.1, "no clear difference (one seed)"),
    ):
        result = GridResult((runs[0], runs[1]._replace(dev=dev)))
        found = all_layers_beat_the_last(result, noise_of_tasks(table1))
        assert found is not None
        assert found.verdict == verdict_then
        assert "in Table 1" in found.evidence


def test_a_model_is_held_to_what_needs_no_context() -> None:
    glove = PosScore("glove", "static", {"all": 88.0}, 88.0, 1e-5)
    syntax = context_helps_syntax(replace(POS, rows=(*POS.rows, glove)), "m")
    assert syntax is not None
    assert (syntax.verdict, syntax.evidence) == ("confirmed", "best layer 90.0; glove 88.0")
    meaning = context_helps_senses(SENSES, "m")
    assert meaning is not None
    assert meaning.verdict == "no clear difference"  # 66.0 against 65.9 of 7,000
    assert context_helps_syntax(POS, "m") is None
    assert context_helps_senses(SENSES, "other") is None


def test_layers_stand_side_by_side_at_a_glance() -> None:
    table = layers_table(POS, SENSES)
    assert table.rows == (
        ("m, layer 1", "90.0", "", "", "66.0"),
        ("m, layer 2", "89.0", "", "", "65.0"),
        ("WordNet first sense", "", "", "", "65.9"),
        ("tokens or instances", "10,000", "0", "0", "7,000"),
    )


def test_perplexities_stand_in_a_table() -> None:
    rows = (
        ModelPerplexity("5-gram", 100.0, None, "fresh"),
        ModelPerplexity("m", 120.0, 110.0, "fresh"),
        ModelPerplexity("m", 90.0, 85.0, "carried"),
    )
    result = PerplexityResult(rows, 10, 20, 30, 0.05)
    table = perplexity_table(result)
    assert table.rows[0] == ("5-gram, fresh start", "100.0", "")
    assert "5.0% are <UNK>" in table.note
    found = lower_than_ngram(result)
    assert found is not None
    assert found.verdict == "contradicted"
    assert "a 5-gram counted on 20 words" in found.claim
    assert lower_than_ngram(replace(result, rows=rows[:1])) is None


def test_presenting_prints_and_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tiny_elmo: Path
) -> None:
    from elmokit.analysis.words.demo import demo_picture

    result = demo(open_encoder(str(tiny_elmo)))
    table = Table("t", ("a", "bb"), (("1", "2"), ("3", "|")), "note")
    json_path, picture = tmp_path / "r.json", tmp_path / "r.svg"
    present(result, [table], json_path, picture, lambda: demo_picture(result))
    assert "| 1 | 2  |\n| 3 | \\| |\n" in capsys.readouterr().out
    assert '"apple"' in json_path.read_text()
    assert picture.read_text().rstrip().endswith("</svg>")
