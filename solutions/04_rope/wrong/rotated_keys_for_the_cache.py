"""attend rotates k before the cache gets it.

From: variants/plain.py
Fails: attend, sink
"""

LINES = {
    "attend": r"""
  ) -> Tensor:
+     k = rotate(k, positions, frequencies)
""",
}
