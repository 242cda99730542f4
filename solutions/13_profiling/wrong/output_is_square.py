"""The output projection is taken to be a square of the model's width.

Fails: flops, roofline
"""

LINES = {
    "step_flops": r"""
-         "output": 2 * tokens * layers * heads * width * hidden,
+         "output": 2 * tokens * layers * hidden * hidden,
""",
}
