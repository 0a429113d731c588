"""At a glance: what every layer of every encoder knows of syntax and of meaning, in one table."""

from elmokit.analysis.encoders import row_name
from elmokit.analysis.part_of_speech import PosResult
from elmokit.analysis.senses import SensesResult
from elmokit.analysis.tables import Table, count, percent

POS_GROUPS = ("all", "covered")
SENSE_SETS = ("ALL", "four")


def layers_table(pos: PosResult, senses: SensesResult) -> Table:
    """Rows that both probes have stand together, then those that only one has."""
    accuracy = {(row.encoder, row.layer): row.accuracy for row in pos.rows}
    f1 = {(row.encoder, row.layer): row.f1 for row in senses.rows}
    rows = [
        (
            row_name(encoder, layer),
            *(percent(accuracy.get((encoder, layer), {}).get(group)) for group in POS_GROUPS),
            *(percent(f1.get((encoder, layer), {}).get(name)) for name in SENSE_SETS),
        )
        for encoder, layer in dict.fromkeys((*accuracy, *f1))
    ]
    tokens = (count(pos.num_tokens.get(group, 0)) for group in POS_GROUPS)
    instances = (count(senses.num_instances.get(name, 0)) for name in SENSE_SETS)
    return Table(
        "Every layer at a glance",
        ("", "POS, all", "POS, covered", "senses, ALL", "senses, four sets"),
        (*rows, ("tokens or instances", *tokens, *instances)),
        "POS: accuracy of a linear probe on the test set; covered are tokens that every encoder "
        "has a vector for. Senses: F1 by the nearest SemCor sense; the four sets are all but "
        "semeval2007.",
    )
