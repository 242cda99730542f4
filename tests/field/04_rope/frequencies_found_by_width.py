"""Plain frequencies are kept from call to call, and found by the width alone.

From: variants/plain.py
Kind: state
Report: https://github.com/ml-explore/mlx/pull/561
Fails: frequencies
"""

FOUND: dict[int, Tensor] = {}
LINES = {
    "rope_frequencies": r"""
-     plain = theta ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
+     if dim not in FOUND:
+         FOUND[dim] = theta ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
+     plain = FOUND[dim]
""",
}
