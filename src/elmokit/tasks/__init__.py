"""VECTORS -> ANSWERS: six task models, with and without ELMo."""
