"""A block is known by the lower half of its tokens, as an array of int32 keeps them.

Fails: sharing
"""

LINES = {
    "BlockManager._find": r"""
-             key = number, tuple(tokens[start : start + size])
+             key = number, tuple(token & 0xFFFFFFFF for token in tokens[start : start + size])
""",
    "BlockManager._register": r"""
-         key = before, tuple(sequence.tokens[start : start + self.block_size])
+         block = sequence.tokens[start : start + self.block_size]
+         key = before, tuple(token & 0xFFFFFFFF for token in block)
""",
}
