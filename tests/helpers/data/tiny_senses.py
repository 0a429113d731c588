"""SemCor, WordNet and the evaluation sets, small enough to know the answers."""

from pathlib import Path

INDEX = """\
play%1:04:00:: 1 2 8
play%1:10:01:: 2 1 32
play%2:33:00:: 3 1 9
single%5:00:00:individual:00 4 2 0
single%3:00:01:: 5 1 7
zebra%1:05:00:: 6 1 0
not%4:02:00:: 7 1 9
"""


def write_senses(folder: Path) -> None:
    """A folder as in shared data: theatre plays, sports plays, a lemma SemCor lacks."""
    tagfiles = folder / "semcor30" / "brown1" / "tagfiles"
    tagfiles.mkdir(parents=True)
    (folder / "wordnet30").mkdir()
    (folder / "wordnet30" / "index.sense").write_text(INDEX)
    theatre = "<wf cmd=done pos=NN lemma=play wnsn=1 lexsn=1:10:01::>play</wf>"
    sport = "<wf cmd=done pos=NN lemma=play wnsn=2 lexsn=1:04:00::>play</wf>"
    (tagfiles / "br-a01").write_text(
        "<contextfile concordance=brown>\n<context filename=br-a01 paras=yes>\n<p pnum=1>\n"
        f"<s snum=1>\n<wf cmd=ignore pos=DT>Broadway</wf>\n{theatre}\n<punc>``</punc>\n</s>\n"
        f"<s snum=2>\n<wf cmd=tag pos=NN>ball</wf>\n{sport}\n</s>\n"
        "<s snum=3>\n<wf cmd=done rdf=group pos=NNP lemma=play wnsn=1 lexsn=1:10:01:: pn=group>"
        "Play_Group</wf>\n"
        "<wf cmd=done pos=JJ lemma=single wnsn=0 lexsn=5:00:00:individual(a):00>single</wf>\n"
        "<wf cmd=done pos=JJ lemma=gone wnsn=0 lexsn=3:00:00::>gone</wf>\n</s>\n"
        "</p>\n</context>\n</contextfile>\n"
    )
    for name in ("semeval2007", "senseval2", "senseval3", "semeval2013", "semeval2015"):
        _write_set(folder / "evaluation" / name, name)


def _write_set(folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    (folder / f"{name}.data.xml").write_text(
        '<corpus lang="en"><text id="d0"><sentence id="d0.s0">'
        '<wf lemma="ball" pos="NOUN">ball</wf>'
        '<instance id="d0.s0.t0" lemma="play" pos="NOUN">play</instance>'
        '<wf lemma="x" pos=".">-LRB-</wf>'
        '<instance id="d0.s0.t1" lemma="zebra" pos="NOUN">striped zebras</instance>'
        "</sentence></text></corpus>"
    )
    (folder / f"{name}.gold.key.txt").write_text(
        "d0.s0.t0 play%1:04:00::\nd0.s0.t1 zebra%1:05:00:: other%1:05:00::\n"
    )
