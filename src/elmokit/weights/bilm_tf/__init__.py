"""bilm-tf's biLMs: HDF5 + options.json, TensorFlow checkpoints, and AllenNLP's archives."""
