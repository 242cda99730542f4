"""Takes head_dim to be hidden_size / num_heads.

From: variants/plain.py
Fails: model, engine
"""

LINES = {
    "Llama._attend": r"""
-             return flat.unflatten(-1, (count, cfg.head_dim)).transpose(1, 2)
+             return flat.unflatten(-1, (count, cfg.hidden_size // cfg.num_heads)).transpose(1, 2)
""",
}
