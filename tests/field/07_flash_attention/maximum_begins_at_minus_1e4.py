"""The running maximum begins at a large negative number: rows whose scores lie below it vanish.

From: variants/simple.py
Kind: levels
Report: https://github.com/flashinfer-ai/flashinfer/pull/5262
Fails: triton, varlen
"""

LINES = {
    "_forward": r"""
-     top = tl.full([BLOCK_M], float("-inf"), tl.float32)
+     top = tl.full([BLOCK_M], -50000.0, tl.float32)
""",
}
