"""FILES -> EXAMPLES: one reader a format."""
