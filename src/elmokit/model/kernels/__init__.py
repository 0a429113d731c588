"""The inner loops of an LSTM layer: plain PyTorch, and the same in C where there is a compiler."""
