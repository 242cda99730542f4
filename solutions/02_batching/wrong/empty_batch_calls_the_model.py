"""An empty batch is run through the model.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-         if not live:
+         if prompts and not live:
""",
}
