"""Norms the output of each block, not its input.

From: variants/plain.py
Fails: model, engine
"""

LINES = {
    "Llama.forward": r"""
-             y = rms_norm(x, w[f"{at}.input_layernorm.weight"], eps)
-             x = x + self._attend(i, y, positions)
-             y = rms_norm(x, w[f"{at}.post_attention_layernorm.weight"], eps)
-             x = x + swiglu(y, *(w[f"{at}.mlp.{n}_proj.weight"] for n in ("gate", "up", "down")))
+             y = self._attend(i, x, positions)
+             x = x + rms_norm(y, w[f"{at}.input_layernorm.weight"], eps)
+             y = swiglu(x, *(w[f"{at}.mlp.{n}_proj.weight"] for n in ("gate", "up", "down")))
+             x = x + rms_norm(y, w[f"{at}.post_attention_layernorm.weight"], eps)
""",
}
