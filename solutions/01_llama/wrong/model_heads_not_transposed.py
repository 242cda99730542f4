"""Reshapes to [B, H, T, D] without moving the token axis.

From: variants/plain.py
Fails: model, engine
"""

LINES = {
    "Llama._attend": r"""
-             return flat.unflatten(-1, (count, cfg.head_dim)).transpose(1, 2)
+             return flat.reshape(flat.shape[0], count, -1, cfg.head_dim)
""",
}
