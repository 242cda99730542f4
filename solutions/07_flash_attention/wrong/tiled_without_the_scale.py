"""Queries are not scaled: scores are larger by the root of D.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-         rows = grouped[..., i : i + block, :].float() * D**-0.5
+         rows = grouped[..., i : i + block, :].float()
""",
}
