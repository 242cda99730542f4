"""RoPE turns the values too.

From: variants/plain.py
Fails: model, engine
"""

LINES = {
    "Llama._attend": r"""
-         v = heads("v", cfg.num_kv_heads)
+         v = apply_rope(heads("v", cfg.num_kv_heads), positions, cfg.rope_theta)
""",
}
