"""Frequencies are remembered by width and theta alone.

From: variants/plain.py
Fails: frequencies
"""

LINES = {
    "": r"""
  Cache = Any
+ KNOWN: dict[tuple[int, float], Tensor] = {}
...
  def rope_frequencies(dim: int, theta: float, scaling: dict | None = None) -> Tensor:
+     if (dim, theta) not in KNOWN:
+         KNOWN[dim, theta] = compute(dim, theta, scaling)
+     return KNOWN[dim, theta]
+
+
+ def compute(dim: int, theta: float, scaling: dict | None = None) -> Tensor:
""",
}
