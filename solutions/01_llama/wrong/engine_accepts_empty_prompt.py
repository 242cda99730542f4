"""An empty prompt gives an empty list.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-             raise ValueError("prompt is empty")
+             return []
""",
}
