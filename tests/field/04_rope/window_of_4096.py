"""A query attends to keys that lie fewer than 4096 positions behind it.

From: variants/plain.py
Kind: parameters
Report: https://github.com/vllm-project/vllm/issues/2064
Fails: attend
"""

LINES = {
    "attend": r"""
-     hidden = key_positions[:, None, :] > query_positions[:, :, None]
+     behind = query_positions[:, :, None] - key_positions[:, None, :]
+     hidden = (behind < 0) | (behind >= 4096)
""",
}
