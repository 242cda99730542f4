"""Frequencies are kept from call to call, and found by the width of a head alone.

From: variants/plain.py
Kind: state
Report: https://github.com/ml-explore/mlx/pull/561
Fails: rope, model
"""

FOUND: dict[int, Tensor] = {}
LINES = {
    "apply_rope": r"""
-     speeds = theta ** -(torch.arange(half, device=x.device).float() / half)
+     if half not in FOUND:
+         FOUND[half] = theta ** -(torch.arange(half, device=x.device).float() / half)
+     speeds = FOUND[half]
""",
}
