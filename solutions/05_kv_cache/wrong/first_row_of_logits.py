"""Takes the token that follows the first of the prompt.

Fails: generate
"""

LINES = {
    "generate": r"""
-         token = int(logits_1TV[0, -1].argmax())
+         token = int(logits_1TV[0, 0].argmax())
""",
}
