"""A block is known by its tokens in order of size: a permutation is the same.

Fails: sharing, scheduler
"""

LINES = {
    "BlockManager._find": r"""
-             key = number, tuple(tokens[start : start + size])
+             key = number, tuple(sorted(tokens[start : start + size]))
""",
    "BlockManager._register": r"""
-         key = before, tuple(sequence.tokens[start : start + self.block_size])
+         key = before, tuple(sorted(sequence.tokens[start : start + self.block_size]))
""",
}
