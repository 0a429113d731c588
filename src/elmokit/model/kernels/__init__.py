"""The inner loops of an LSTM layer, in PyTorch and (if there is a compiler) in C."""
