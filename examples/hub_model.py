"""A model as Hugging Face users know it: saved with its card, read back, used.

python examples/hub_model.py FOLDER [MODEL]
"""

import sys

from elmokit.integrations.hub import ElmoModel

folder = sys.argv[1]
model = ElmoModel(sys.argv[2] if len(sys.argv) > 2 else "en-small")
model.save_pretrained(folder)  # model.push_to_hub("user/name") uploads the same files
again = ElmoModel.from_pretrained(folder)  # or "user/name"; elmokit.load takes both, too
vectors = again.embedder.embed(["I like apples."])[0]
print(vectors.shape, "from", folder)
