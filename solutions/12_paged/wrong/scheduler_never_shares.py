"""share is not passed on.

Fails: scheduler
"""

LINES = {
    "Scheduler.__init__": r"""
-         self._blocks = BlockManager(num_blocks, block_size, share)
+         self._blocks = BlockManager(num_blocks, block_size)
""",
}
