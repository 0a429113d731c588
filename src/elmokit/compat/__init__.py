"""The names of the programs users come from: change the import line, keep the rest.

    elmokit.compat.allennlp           Elmo, batch_to_ids, ScalarMix, ElmoEmbedder
    elmokit.compat.bilm               Batcher, TokenBatcher, BidirectionalLanguageModel, ...
    elmokit.compat.simple_elmo        ElmoModel
    elmokit.compat.elmoformanylangs   Embedder
    elmokit.compat.seqvec             get_embeddings; python -m elmokit.compat.seqvec

Vectors depend on their own sentence alone here. docs/guide/migrating.md lists what differs and why.
"""
