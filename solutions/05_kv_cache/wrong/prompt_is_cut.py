"""Only the last 128 tokens of a prompt enter.

Fails: generate
"""

LINES = {
    "generate": r"""
-     entering, seen = prompt, 0
+     entering, seen = prompt[-128:], 0
""",
}
