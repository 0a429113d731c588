"""Commands on models and vectors: embed, info, convert, verify."""
