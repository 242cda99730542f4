"""The prompt is in the output.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-         return new
+         return prompt + new
""",
}
