"""Only whole tiles of keys are visited: S // block of them.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-         for j in range(0, min(S, i + block + S - T) if causal else S, block):
+         for j in range(
+             0, min(S, i + block + S - T) // block * block if causal else S // block * block, block
+         ):
""",
}
