"""Only keys are checked for padding, so a padding query sees the real keys before it.

From: variants/plain.py
Fails: mask
"""

LINES = {
    "causal_mask": r"""
-     real = valid[:, :, None] & valid[:, None, :]
+     real = valid[:, None, :].expand(-1, valid.shape[1], -1)
""",
}
