"""TOKENS -> VECTORS: the input of every task model."""
