"""The number of a block's holders is kept in eight bits.

Fails: sharing
"""

LINES = {
    "BlockManager.__init__": r"""
-         self._holders = [0] * num_blocks
+         self._holders = torch.zeros(num_blocks, dtype=torch.uint8)
""",
}
