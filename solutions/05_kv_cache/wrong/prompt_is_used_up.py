"""Takes the tokens of the prompt out of the caller's list.

Fails: generate
"""

LINES = {
    "generate": r"""
-     entering, seen = prompt, 0
+     entering, seen = [prompt.pop(0) for _ in range(len(prompt))], 0
""",
}
