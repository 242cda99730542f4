"""The last norm is missing.

From: variants/plain.py
Fails: model, engine
"""

LINES = {
    "Llama.forward": r"""
-         x = rms_norm(x, w["model.norm.weight"], eps)
""",
}
