"""The oracles: float64, obvious, one operator family per file.

``engine/`` is no oracle: it is built for speed, held against them itself, and judges nothing.
"""
