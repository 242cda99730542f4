"""Takes the token that follows the first of the prompt.

Fails: generate
"""

LINES = {
    "generate": r"""
-         token = int(logits[0, -1].argmax())
+         token = int(logits[0, 0].argmax())
""",
}
