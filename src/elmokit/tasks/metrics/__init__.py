"""The official measures, each held to its reference implementation by tests."""
