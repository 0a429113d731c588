"""Checks whether a model reproduces the vectors of the program it comes from."""
