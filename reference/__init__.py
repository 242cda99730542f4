"""The oracles: float64, obvious, one operator family per file."""
