"""Methods of other libraries that users may try on an ``Embedder``, and their names here."""

FAMILIAR_CALLS = {
    # sentence-transformers, Hugging Face
    "encode": "embed (one vector per token) or pool (one vector per sentence)",
    "similarity": "pool, then cosine similarities of its rows; or `elmokit compare` for two words",
    "get_sentence_embedding_dimension": "dim",
    "from_pretrained": "elmokit.load",
    # PyTorch
    "forward": "layers; inside a PyTorch model use elmokit.Elmo",
    "cuda": 'to("cuda")',
    "half": 'elmokit.load(name, precision="bfloat16")',
    "parameters": "bilm.parameters(); inside a PyTorch model use elmokit.Elmo",
    "state_dict": "bilm.state_dict(); save writes the whole model",
    "eval": "nothing: a loaded model is always in evaluation mode",
    # scikit-learn, LangChain
    "transform": "pool (one vector per sentence)",
    "predict": "elmokit.substitutes or elmokit.surprisal; or `elmokit predict` for a blank",
    "embed_documents": "pool (one vector per sentence)",
    "embed_query": "pool([text])[0]",
    # AllenNLP, simple_elmo, ELMoForManyLangs
    "embed_sentence": "layers([tokens])[0], or elmokit.compat.allennlp.ElmoEmbedder",
    "embed_sentences": "stream_layers, or elmokit.compat.allennlp.ElmoEmbedder",
    "embed_batch": "layers, or elmokit.compat.allennlp.ElmoEmbedder",
    "get_elmo_vectors": "embed, or elmokit.compat.simple_elmo.ElmoModel",
    "sents2elmo": "embed, or elmokit.compat.elmoformanylangs.Embedder",
}
