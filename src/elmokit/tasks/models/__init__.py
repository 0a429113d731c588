"""The six task models, one file each."""
