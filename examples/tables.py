"""A column of text in, a column of vectors out: pandas, polars and pyarrow.

python examples/tables.py [MODEL]
"""

import sys

import pandas as pd
import polars as pl
import pyarrow as pa

import elmokit

elmo = elmokit.load(sys.argv[1] if len(sys.argv) > 1 else None)
texts = ["I like apples.", "Yes."]

frame = pd.DataFrame({"text": texts})
frame["vector"] = list(elmo.pool(frame["text"]))  # one vector per text
frame["tokens"] = elmo.embed(frame["text"])  # one array (T, D) per text

table = pl.DataFrame({"text": texts})
table = table.with_columns(pl.Series("vector", elmo.pool(table["text"])))  # Array(Float32, D)

arrow = pa.table({"text": texts})
vectors = elmo.pool(arrow["text"].to_pylist())
column = pa.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1])
arrow = arrow.append_column("vector", column)

print(frame["vector"][0].shape, table["vector"].dtype, arrow["vector"].type)
