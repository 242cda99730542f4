"""execute returns one str.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine.execute": r"""
-         return texts
+         return "".join(texts)
""",
}
