"""Word senses as in Table 5, but on development data: every eighth document of SemCor.

    python benchmarks/quality/semcor_senses.py DATA MODEL...  # DATA: wsd/

Sense means come from the other documents. This chose the basis for similarity of en-small; the
evaluation sets of Table 5 did not. MODEL: as for ``elmokit analyse``, such as ``states:en-small``.
"""

import sys
from pathlib import Path

from elmokit.analysis.encoders.opening import Models
from elmokit.analysis.output.tables import print_tables
from elmokit.analysis.probes.senses import read_sense_data, senses_table, word_senses

STEP, FIRST = 8, 3
"""Documents 3, 11, 19 ... are the test."""


def main() -> None:
    folder, *names = sys.argv[1:]
    data = read_sense_data(Path(folder) / "wsd", sets=())
    documents = data.semcor.documents
    rest = [each for number, each in enumerate(documents) if number % STEP != FIRST]
    split = data._replace(
        semcor=data.semcor._replace(documents=rest),
        evaluation={"SemCor, held out": documents[FIRST::STEP]},
    )
    print_tables([senses_table(word_senses(Models().encoders(names), split))])


if __name__ == "__main__":
    main()
