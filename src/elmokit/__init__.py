"""elmokit: deep contextualized word representations (ELMo).

    text -> tokens -> character ids -> token vectors -> biLM layers -> mix -> task

>>> import elmokit
>>> elmo = elmokit.load("en-small")
>>> elmo.embed(["I like apples."])[0].shape
(4, 512)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmokit.analysis.encoders.encoder import Encoder as Encoder
    from elmokit.analysis.semantic_change.compare import ChangeResult as ChangeResult
    from elmokit.analysis.semantic_change.compare import CorpusSamples as CorpusSamples
    from elmokit.analysis.semantic_change.compare import SentenceSource as SentenceSource
    from elmokit.analysis.semantic_change.compare import WordChange as WordChange
    from elmokit.analysis.semantic_change.compare import sample_corpora as sample_corpora
    from elmokit.analysis.semantic_change.compare import samples_of_usages as samples_of_usages
    from elmokit.analysis.semantic_change.compare import word_change as word_change
    from elmokit.analysis.semantic_change.measures import ChangeDistances as ChangeDistances
    from elmokit.analysis.semantic_change.measures import ChangeEvidence as ChangeEvidence
    from elmokit.analysis.semantic_change.measures import ChangeMeasure as ChangeMeasure
    from elmokit.analysis.sense_induction.agreement import ClusterAgreement as ClusterAgreement
    from elmokit.analysis.sense_induction.agreement import VMeasure as VMeasure
    from elmokit.analysis.sense_induction.clusters import ClusterCandidate as ClusterCandidate
    from elmokit.analysis.sense_induction.clusters import ClusterCriterion as ClusterCriterion
    from elmokit.analysis.sense_induction.induce import InducedSense as InducedSense
    from elmokit.analysis.sense_induction.induce import InducedSenses as InducedSenses
    from elmokit.analysis.sense_induction.induce import (
        compare_with_annotators as compare_with_annotators,
    )
    from elmokit.analysis.sense_induction.induce import find_occurrences as find_occurrences
    from elmokit.analysis.sense_induction.induce import induce_senses as induce_senses
    from elmokit.analysis.words.occurrences import Occurrence as Occurrence
    from elmokit.analysis.words.sample import WordSample as WordSample
    from elmokit.analysis.words.wug import Usage as Usage
    from elmokit.config import CharacterScheme as CharacterScheme
    from elmokit.config import CharCnnConfig as CharCnnConfig
    from elmokit.config import LstmConfig as LstmConfig
    from elmokit.config import ModelConfig as ModelConfig
    from elmokit.config import WordTableConfig as WordTableConfig
    from elmokit.embed.elmo import Elmo as Elmo
    from elmokit.embed.embedder import CarriedLayers as CarriedLayers
    from elmokit.embed.embedder import Embedder as Embedder
    from elmokit.embed.embedder import Start as Start
    from elmokit.embed.load import AnyModel as AnyModel
    from elmokit.embed.load import load as load
    from elmokit.embed.mix import AnyMix as AnyMix
    from elmokit.embed.mix import Mix as Mix
    from elmokit.embed.pooling import Pooling as Pooling
    from elmokit.embed.sentences import EmbeddedText as EmbeddedText
    from elmokit.embed.sentences import Sentence as Sentence
    from elmokit.errors import InputError as InputError
    from elmokit.model.bilm import BiLm as BiLm
    from elmokit.model.bilm import BiLmOutput as BiLmOutput
    from elmokit.model.bilm import BiLmState as BiLmState
    from elmokit.model.kernels.lstm_inference import PrecisionName as PrecisionName
    from elmokit.model.kernels.lstm_weights import Precision as Precision
    from elmokit.model.lstm import LstmState as LstmState
    from elmokit.model.packing import TokenBatch as TokenBatch
    from elmokit.model.packing import batch_tokens as batch_tokens
    from elmokit.model.scalar_mix import ScalarMix as ScalarMix
    from elmokit.model.softmax import OutputWords as OutputWords
    from elmokit.model.softmax import Softmax as Softmax
    from elmokit.pretrain.perplexity import StateMode as StateMode
    from elmokit.pretrain.predict import Guess as Guess
    from elmokit.pretrain.substitutes import Substitutes as Substitutes
    from elmokit.pretrain.substitutes import substitutes as substitutes
    from elmokit.pretrain.surprisal.measure import SentenceSurprisal as SentenceSurprisal
    from elmokit.pretrain.surprisal.measure import TokenPredictions as TokenPredictions
    from elmokit.pretrain.surprisal.measure import surprisal as surprisal
    from elmokit.serve.page.document import ExplorerPage as ExplorerPage
    from elmokit.serve.page.explore import explore as explore
    from elmokit.text.punkt import PunktParameters as PunktParameters
    from elmokit.text.sentences import SentenceSpan as SentenceSpan
    from elmokit.text.sentences import SentenceSplitter as SentenceSplitter
    from elmokit.text.token_ids import Characters as Characters
    from elmokit.text.token_ids import TokenIds as TokenIds
    from elmokit.text.token_ids import TokenIndexer as TokenIndexer
    from elmokit.text.tokenize import Token as Token
    from elmokit.text.tokenize import tokenize as tokenize
    from elmokit.text.vocabulary import Vocabulary as Vocabulary
    from elmokit.weights.names import ModelFiles as ModelFiles
    from elmokit.weights.names import ModelName as ModelName
    from elmokit.weights.pretrained import Basis as Basis
    from elmokit.weights.pretrained import PretrainedModel as PretrainedModel
    from elmokit.weights.tensors import StorageType as StorageType

__version__ = "0.2.0.dev0"

_HOMES = {
    "load": "elmokit.embed.load",
    "Embedder": "elmokit.embed.embedder",
    "CarriedLayers": "elmokit.embed.embedder",
    "EmbeddedText": "elmokit.embed.sentences",
    "Mix": "elmokit.embed.mix",
    "Elmo": "elmokit.embed.elmo",
    "TokenBatch": "elmokit.model.packing",
    "batch_tokens": "elmokit.model.packing",
    "BiLm": "elmokit.model.bilm",
    "BiLmOutput": "elmokit.model.bilm",
    "BiLmState": "elmokit.model.bilm",
    "LstmState": "elmokit.model.lstm",
    "ScalarMix": "elmokit.model.scalar_mix",
    "Guess": "elmokit.pretrain.predict",
    "substitutes": "elmokit.pretrain.substitutes",
    "Substitutes": "elmokit.pretrain.substitutes",
    "surprisal": "elmokit.pretrain.surprisal.measure",
    "SentenceSurprisal": "elmokit.pretrain.surprisal.measure",
    "TokenPredictions": "elmokit.pretrain.surprisal.measure",
    "PretrainedModel": "elmokit.weights.pretrained",
    "OutputWords": "elmokit.model.softmax",
    "Softmax": "elmokit.model.softmax",
    "Vocabulary": "elmokit.text.vocabulary",
    "TokenIndexer": "elmokit.text.token_ids",
    "TokenIds": "elmokit.text.token_ids",
    "Characters": "elmokit.text.token_ids",
    "Token": "elmokit.text.tokenize",
    "tokenize": "elmokit.text.tokenize",
    "SentenceSpan": "elmokit.text.sentences",
    "SentenceSplitter": "elmokit.text.sentences",
    "PunktParameters": "elmokit.text.punkt",
    "ModelConfig": "elmokit.config",
    "LstmConfig": "elmokit.config",
    "CharCnnConfig": "elmokit.config",
    "WordTableConfig": "elmokit.config",
    "InputError": "elmokit.errors",
    "find_occurrences": "elmokit.analysis.sense_induction.induce",
    "induce_senses": "elmokit.analysis.sense_induction.induce",
    "InducedSenses": "elmokit.analysis.sense_induction.induce",
    "InducedSense": "elmokit.analysis.sense_induction.induce",
    "ClusterCandidate": "elmokit.analysis.sense_induction.clusters",
    "ClusterAgreement": "elmokit.analysis.sense_induction.agreement",
    "VMeasure": "elmokit.analysis.sense_induction.agreement",
    "compare_with_annotators": "elmokit.analysis.sense_induction.induce",
    "sample_corpora": "elmokit.analysis.semantic_change.compare",
    "samples_of_usages": "elmokit.analysis.semantic_change.compare",
    "CorpusSamples": "elmokit.analysis.semantic_change.compare",
    "word_change": "elmokit.analysis.semantic_change.compare",
    "ChangeResult": "elmokit.analysis.semantic_change.compare",
    "WordChange": "elmokit.analysis.semantic_change.compare",
    "ChangeEvidence": "elmokit.analysis.semantic_change.measures",
    "ChangeDistances": "elmokit.analysis.semantic_change.measures",
    "ChangeMeasure": "elmokit.analysis.semantic_change.measures",
    "ClusterCriterion": "elmokit.analysis.sense_induction.clusters",
    "SentenceSource": "elmokit.analysis.semantic_change.compare",
    "WordSample": "elmokit.analysis.words.sample",
    "Occurrence": "elmokit.analysis.words.occurrences",
    "Usage": "elmokit.analysis.words.wug",
    "Encoder": "elmokit.analysis.encoders.encoder",
    "explore": "elmokit.serve.page.explore",
    "ExplorerPage": "elmokit.serve.page.document",
    "AnyMix": "elmokit.embed.mix",
    "AnyModel": "elmokit.embed.load",
    "Basis": "elmokit.weights.pretrained",
    "CharacterScheme": "elmokit.config",
    "ModelFiles": "elmokit.weights.names",
    "ModelName": "elmokit.weights.names",
    "Pooling": "elmokit.embed.pooling",
    "Precision": "elmokit.model.kernels.lstm_weights",
    "PrecisionName": "elmokit.model.kernels.lstm_inference",
    "Sentence": "elmokit.embed.sentences",
    "Start": "elmokit.embed.embedder",
    "StateMode": "elmokit.pretrain.perplexity",
    "StorageType": "elmokit.weights.tensors",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that ``elmokit --help`` does not load torch."""
    if name == "from_pretrained":
        raise AttributeError(
            "module 'elmokit' has no attribute 'from_pretrained'; use elmokit.load"
        )
    if name not in _HOMES:
        raise AttributeError(f"module 'elmokit' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
