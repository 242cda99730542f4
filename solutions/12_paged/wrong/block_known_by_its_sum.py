"""A block is known by the sum of its tokens.

Fails: sharing, scheduler
"""

LINES = {
    "BlockManager._find": r"""
-             key = number, tuple(tokens[start : start + size])
+             key = number, (sum(tokens[start : start + size]),)
""",
    "BlockManager._register": r"""
-         key = before, tuple(sequence.tokens[start : start + self.block_size])
+         key = before, (sum(sequence.tokens[start : start + self.block_size]),)
""",
}
