"""Whether to scale is asked of the key "type", which newer files call "rope_type".

From: variants/plain.py
Kind: contracts
Report: https://github.com/lablup/mlxcel/issues/1355
Fails: frequencies
"""

LINES = {
    "rope_frequencies": r"""
-     if not scaling:
+     if not scaling or scaling.get("type") != "llama3":
""",
}
