"""Only whole blocks of keys are visited: a floor where the count of blocks needs a ceiling.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_forward": r"""
      whole = whole // BLOCK_N * BLOCK_N
+     stop = stop // BLOCK_N * BLOCK_N
""",
}
