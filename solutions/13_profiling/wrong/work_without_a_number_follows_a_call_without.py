"""Work and calls without a correlation are joined.

Fails: trace
"""

LINES = {
    "attribute": r"""
-     owners[None] = ""  # work without a number is nobody's, whoever has none either
""",
}
