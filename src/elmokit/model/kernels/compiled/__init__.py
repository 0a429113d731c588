"""Inner loops in C, compiled on first use where there is a C compiler; PyTorch is the twin."""
