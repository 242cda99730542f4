"""add holds a request against max_tokens alone.

Fails: scheduler
"""

LINES = {
    "Scheduler.__init__": r"""
-         self._capacity = min(num_blocks * block_size, max_tokens)
+         self._capacity = max_tokens
""",
}
