"""CORPUS -> TRAINED biLM."""
