"""A block is known by the lowest byte of each of its tokens.

Kind: state
Report: https://github.com/waybarrios/vllm-mlx/pull/444
Fails: sharing
"""

LINES = {
    "BlockManager._find": r"""
-             key = number, tuple(tokens[start : start + size])
+             key = number, bytes(token & 0xFF for token in tokens[start : start + size])
""",
    "BlockManager._register": r"""
-         key = before, tuple(sequence.tokens[start : start + self.block_size])
+         own = sequence.tokens[start : start + self.block_size]
+         key = before, bytes(token & 0xFF for token in own)
""",
}
