"""A layer is taken to have one norm.

Fails: bytes, roofline
"""

LINES = {
    "step_bytes": r"""
-     weights = config.num_layers * (matrices + 2 * hidden) + ends
+     weights = config.num_layers * (matrices + hidden) + ends
""",
}
