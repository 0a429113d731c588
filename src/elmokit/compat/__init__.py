"""The APIs of earlier ELMo programs: change the import line, keep the rest.

    elmokit.compat.allennlp           Elmo, batch_to_ids, ScalarMix, ElmoEmbedder
    elmokit.compat.bilm               Batcher, TokenBatcher, BidirectionalLanguageModel, ...
    elmokit.compat.simple_elmo        ElmoModel
    elmokit.compat.elmoformanylangs   Embedder
    elmokit.compat.seqvec             get_embeddings; python -m elmokit.compat.seqvec

Here, vectors depend only on their own sentence. docs/guide/migrating.md lists all differences.
"""
