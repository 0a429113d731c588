"""Parts that task models are built from."""
