"""Ray Data: one vector per text of a dataset, computed by one or two workers.

python examples/ray_vectors.py [MODEL]
"""

import sys

import ray

from elmokit.integrations.ray import EmbedBatches

model = sys.argv[1] if len(sys.argv) > 1 else "en-small"
texts = ray.data.from_items([{"text": f"The cat number {number} sat."} for number in range(6)])
vectors = texts.map_batches(  # on this machine, or on the cluster of RAY_ADDRESS
    EmbedBatches,
    fn_constructor_kwargs={"model": model, "pool": "mean"},
    batch_format="pyarrow",
    compute=ray.data.ActorPoolStrategy(min_size=1, max_size=2),
)
for row in vectors.iter_rows():  # or vectors.write_parquet("vectors")
    print(row["text"], len(row["vector"]))
