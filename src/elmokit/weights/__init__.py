"""FILES <-> MODEL."""
