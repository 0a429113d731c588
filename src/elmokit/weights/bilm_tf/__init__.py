"""bilm-tf and AllenNLP: HDF5 weights with options.json."""
