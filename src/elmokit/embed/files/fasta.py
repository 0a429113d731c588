"""PROTEINS -> SENTENCES: a FASTA record is a sentence, and each residue a token, as in SeqVec."""

from collections.abc import Iterator, Sequence

from elmokit.embed.files.inputs import Item
from elmokit.errors import InputError
from elmokit.text.sources import can_be_read_twice, open_source, read_lines


def read_fasta(
    inputs: Sequence[str], *, id_field: int | None = 1, split_char: str = "|"
) -> Iterator[Item]:
    """Read sequences, in upper case and by id, from plain or gzipped files.

    The id is field ``id_field`` (counted from 0) of the header split at ``split_char``, so that
    ``>sp|P69905|HBA_HUMAN`` is P69905; -1 takes the whole header, None its first word.
    """
    if not split_char:
        raise InputError("--split-char is empty; give the separator of the fields, or use --id -1")
    seen: set[str] = set()
    for name in inputs:
        for header, number, sequence in _records(name):
            key = _identifier(header, id_field, split_char, f"{name}: line {number}")
            if key in seen:
                raise InputError(
                    f"{name}: line {number}: a second sequence with the id {key!r}; "
                    f"choose another field with --id, or -1 for the whole header"
                )
            seen.add(key)
            yield Item(key, sequence, list(sequence))


def count_proteins(inputs: Sequence[str]) -> int | None:
    """Count the records of FASTA files; None if an input can be read only once."""
    if not can_be_read_twice(inputs):
        return None
    total = 0
    for name in inputs:
        with open_source(name) as file:
            total += sum(line.startswith(b">") for line in file)
    return total


def _records(name: str) -> Iterator[tuple[str, int, str]]:
    header, header_line = None, 0
    parts: list[str] = []
    for number, text in read_lines(name):
        line = text.strip()
        if line.startswith(">"):
            if header is not None:
                yield header, header_line, "".join(parts)
            header, header_line, parts = line[1:].strip(), number, []
        elif header is not None:
            parts.append("".join(line.split()).upper())
        elif line:
            raise InputError(
                f"{name}: line {number}: expected a FASTA header that starts with '>', "
                f"got {line[:20]!r}"
            )
    if header is not None:
        yield header, header_line, "".join(parts)


def _identifier(header: str, id_field: int | None, split_char: str, where: str) -> str:
    if id_field is None:
        return header.split()[0] if header.split() else ""
    if id_field == -1:
        return header
    fields = header.split(split_char)
    if not 0 <= id_field < len(fields):
        raise InputError(
            f"{where}: the header {header!r} has no field {id_field} when split at "
            f"{split_char!r}; choose with --id and --split-char, or --id -1 for the whole header"
        )
    return fields[id_field]
