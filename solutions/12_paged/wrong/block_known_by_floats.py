"""A block is known by its tokens as floats, which round beyond 53 bits.

Fails: sharing
"""

LINES = {
    "BlockManager._find": r"""
-             key = number, tuple(tokens[start : start + size])
+             key = number, tuple(map(float, tokens[start : start + size]))
""",
    "BlockManager._register": r"""
-         key = before, tuple(sequence.tokens[start : start + self.block_size])
+         key = before, tuple(map(float, sequence.tokens[start : start + self.block_size]))
""",
}
