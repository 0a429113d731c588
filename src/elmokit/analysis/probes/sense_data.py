"""Sense-annotated text: SemCor's tag files, and the all-words sets of Raganato et al. (2017)."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from elmokit.analysis.probes.wordnet import WordNet, lemma_of, part_of_speech
from elmokit.errors import InputError

EVALUATION_SETS = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")
TREEBANK_TOKENS = {
    "``": '"', "''": '"', "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]",
    "-LCB-": "{", "-RCB-": "}", "&amp;": "&",
}  # fmt: skip
"""Treebank spellings -> the spellings of running text, on which a biLM was trained."""


class SenseInstance(NamedTuple):
    """One word (or several tokens, ``start`` to ``end``) with the senses it may have."""

    lemma: str
    pos: str
    keys: tuple[str, ...]
    start: int
    end: int


class SenseSentence(NamedTuple):
    """A sentence, and those of its words that have a sense."""

    tokens: list[str]
    instances: list[SenseInstance]
    tags: Sequence[str] = ()
    """Part of speech of each token (only in SemCor); punctuation is its own tag."""


Document = list[SenseSentence]
"""Sentences in the order of the text."""


class SemCor(NamedTuple):
    """All of SemCor, with sense keys of the WordNet it was read with."""

    documents: list[Document]
    num_repaired: int
    """Sense keys that this WordNet lacks but that could be mapped to it."""
    num_dropped: int
    """Sense keys that could not be mapped."""

    @property
    def sentences(self) -> list[SenseSentence]:
        """The sentences of all documents."""
        return [sentence for document in self.documents for sentence in document]


def read_semcor(folder: Path, wordnet: WordNet) -> SemCor:
    """Read every tag file below ``folder``; names of people, groups and places have no sense.

    (`Fulton_County_Grand_Jury` is tagged `group`, but is no occurrence of the word "group".)
    """
    paths = sorted(folder.glob("*/tagfiles/*")) or sorted(folder.glob("tagfiles/*"))
    if not paths:
        raise InputError(f"{folder}: no SemCor tag files (expected brown1/tagfiles/br-a01 ...)")
    documents: list[Document] = []
    num_repaired = num_dropped = 0
    for path in paths:
        sentences: Document = []
        for lines in _tag_sentences(path):
            tags: list[str] = []
            sentence = SenseSentence([], [], tags)
            for attributes, text in lines:
                start = len(sentence.tokens)
                sentence.tokens.extend(_plain(token) for token in text.split("_") if token)
                tags.extend([attributes.get("pos", text)] * (len(sentence.tokens) - start))
                if "lexsn" not in attributes or "pn" in attributes:
                    continue
                keys = []
                for given, key in _keys(attributes, wordnet):
                    num_repaired += key is not None and key != given
                    num_dropped += key is None
                    if key is not None:
                        keys.append(key)
                if keys and len(sentence.tokens) > start:
                    first = keys[0]
                    where = lemma_of(first), part_of_speech(first)
                    instance = SenseInstance(*where, tuple(keys), start, len(sentence.tokens))
                    sentence.instances.append(instance)
            if sentence.tokens:
                sentences.append(sentence)
        documents.append(sentences)
    return SemCor(documents, num_repaired, num_dropped)


def _tag_sentences(path: Path) -> Iterator[list[tuple[dict[str, str], str]]]:
    """The (attributes, text) of each word, sentence by sentence. Attributes are not quoted."""
    words: list[tuple[dict[str, str], str]] = []
    for line in path.read_text(encoding="latin-1").splitlines():
        if line.startswith("</s>"):
            yield words
            words = []
        elif found := re.match(r"<(?:wf|punc)\b(.*?)>(.*)</(?:wf|punc)>", line):
            pairs = (field.partition("=") for field in found[1].split())
            words.append(({name: value for name, _, value in pairs}, found[2]))
    if words:
        raise InputError(f"{path}: the last sentence is not closed by </s>")


def _keys(attributes: dict[str, str], wordnet: WordNet) -> Iterator[tuple[str, str | None]]:
    lemma = attributes["lemma"]
    numbers = attributes.get("wnsn", "").split(";")
    for place, sense in enumerate(attributes["lexsn"].split(";")):
        number = numbers[place] if place < len(numbers) else ""
        key = wordnet.repair(lemma, sense, int(number) if number.isdigit() else 0)
        yield f"{lemma}%{sense}", key


def read_evaluation_set(folder: Path, name: str) -> list[Document]:
    """Read NAME/NAME.data.xml with the answers of NAME/NAME.gold.key.txt."""
    data, gold_path = folder / name / f"{name}.data.xml", folder / name / f"{name}.gold.key.txt"
    for path in (data, gold_path):
        if not path.exists():
            raise InputError(f"{path}: no such file; the sets are {', '.join(EVALUATION_SETS)}")
    gold: dict[str, tuple[str, ...]] = {}
    for line in gold_path.read_text(encoding="utf-8").splitlines():
        identity, *keys = line.split()
        gold[identity] = tuple(keys)
    try:
        root = ElementTree.parse(data).getroot()
    except ElementTree.ParseError as error:
        raise InputError(f"{data}: not well-formed XML ({error})") from None
    texts = list(root.iter("text")) or [root]
    return [
        [_evaluated(element, gold, gold_path) for element in text.iter("sentence")]
        for text in texts
    ]


def _evaluated(
    element: ElementTree.Element, gold: dict[str, tuple[str, ...]], gold_path: Path
) -> SenseSentence:
    sentence = SenseSentence([], [])
    for word in element:
        start = len(sentence.tokens)
        sentence.tokens.extend(_plain(token) for token in (word.text or "").split())
        if word.tag != "instance":
            continue
        identity = word.attrib["id"]
        if identity not in gold:
            raise InputError(f"{gold_path}: no answer for {identity}")
        lemma, pos = word.attrib["lemma"].lower(), word.attrib["pos"]
        end = len(sentence.tokens)
        sentence.instances.append(SenseInstance(lemma, pos, gold[identity], start, end))
    return sentence


def _plain(token: str) -> str:
    return TREEBANK_TOKENS.get(token, token)
