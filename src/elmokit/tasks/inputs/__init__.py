"""TOKENS -> VECTORS: what stands at the input of every task model."""
