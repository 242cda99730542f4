"""Decodes greedily at every temperature.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-             if temperature > 0:
+             if False:
""",
}
