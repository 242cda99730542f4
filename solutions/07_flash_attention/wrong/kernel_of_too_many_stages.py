"""The loop keeps so many blocks of keys and values on their way that no card holds them.

From: variants/simple.py
Fails: triton, varlen
"""

LINES = {
    "_sizes": r"""
-         return (32, 32, 4, 2) if D <= 64 else (16, 32, 4, 1)  # no tensor cores: unrolled
+         return 32, 32, 4, 64
      if D <= 64:
-         return 128, 64, 4, 3
+         return 128, 64, 4, 32
""",
}
