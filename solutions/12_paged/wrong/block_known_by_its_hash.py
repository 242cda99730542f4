"""A block is known by the hash of its tokens, and hash(-1) is hash(-2).

Fails: sharing
"""

LINES = {
    "BlockManager._find": r"""
-             key = number, tuple(tokens[start : start + size])
+             key = number, (hash(tuple(tokens[start : start + size])),)
""",
    "BlockManager._register": r"""
-         key = before, tuple(sequence.tokens[start : start + self.block_size])
+         key = before, (hash(tuple(sequence.tokens[start : start + self.block_size])),)
""",
}
