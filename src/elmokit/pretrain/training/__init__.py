"""CORPUS -> WEIGHTS: the training loop and its parts."""
