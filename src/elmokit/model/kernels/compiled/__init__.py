"""Inner loops in C, compiled on first use if there is a C compiler; PyTorch has the same loops."""
