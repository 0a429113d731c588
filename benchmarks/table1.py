"""The paper's Table 1 (and 2 and 3) on free data: six tasks, with and without ELMo.

    python benchmarks/table1.py DATA OUT                 # the shipped model, recipe "cpu"
    python benchmarks/table1.py DATA OUT --jobs 2        # two runs at a time, a core each
    python benchmarks/table1.py DATA OUT --recipe paper --seeds 5      # the full grid

DATA is the folder with wnut17, sst, nli, ewt-propbank, litbank, squad and glove unpacked. Every run
is a line of OUT/results.jsonl; started again, the same command does what is missing, and a run that
was killed goes on from its last checkpoint. The table is written to OUT/table1.md.
"""

import argparse
from pathlib import Path

from elmokit.files import replacing_file
from elmokit.tasks.grid import (
    PAPER,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    Grid,
    read_results,
    run_grid,
    table_1,
    variants_table,
)
from elmokit.tasks.run import CacheConfig

TABLES = {"1": TABLE_1, "2": TABLE_2, "3": TABLE_3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--table", choices=TABLES, default="1")
    parser.add_argument("--tasks", nargs="+", default=list(PAPER), choices=list(PAPER))
    parser.add_argument("--elmo", help="default: the model that ships with elmokit")
    parser.add_argument("--recipe", default="cpu", help="cpu or paper")
    parser.add_argument("--seeds", type=int, help="default: 3 for ner, sentiment, entailment; 1")
    parser.add_argument("--minutes", type=float, default=0.0, help="of training, a run")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cache", type=Path, help="folder for the biLM's layers")
    parser.add_argument("--set", action="append", default=[], help="TABLE.NAME=VALUE, for all runs")
    options = parser.parse_args()
    grid = Grid(
        tasks=tuple(options.tasks),
        variants=TABLES[options.table],
        data=options.data,
        out=options.out,
        elmo=options.elmo,
        recipe=options.recipe,
        settings=tuple(options.set),
        seeds=options.seeds,
        max_minutes=options.minutes,
        cache=CacheConfig(options.cache),
    )
    run_grid(grid, jobs=options.jobs)
    results = read_results(options.out)
    table = table_1(results) if options.table == "1" else variants_table(results)
    with replacing_file(options.out / f"table{options.table}.md") as aside:
        aside.write_text(table, encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
