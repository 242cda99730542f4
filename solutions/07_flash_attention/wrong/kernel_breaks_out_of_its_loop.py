"""The kernel leaves its loop over keys by a break, which Triton does not know.

From: variants/simple.py
Fails: triton, varlen
"""

LINES = {
    "_attend": r"""
-     for start in range(first, stop, BLOCK_N):
+     for start in range(first, S, BLOCK_N):
+         if start >= stop:
+             break
""",
}
