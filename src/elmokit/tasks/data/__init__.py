"""FILES -> EXAMPLES: readers of the standard formats, the benchmark sets, and batches."""
