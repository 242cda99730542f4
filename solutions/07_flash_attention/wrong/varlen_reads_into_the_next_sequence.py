"""Keys end where all keys end, not where the sequence does.

From: variants/simple.py
Fails: varlen
"""

LINES = {
    "_forward": r"""
          S = (tl.load(starts_k + batch + 1) - k_start).to(tl.int32)
+         S = (S + BLOCK_N - 1) // BLOCK_N * BLOCK_N if not CAUSAL else S
""",
}
