"""The errors of quantize_int4 name no argument.

From: variants/simple.py
Fails: int4, linears, model
"""

LINES = {
    "quantize_int4": r"""
-         raise ValueError(f"w must have an even number of columns, not {width}")
+         raise ValueError(f"an even number of columns is needed, not {width}")
...
-         raise ValueError(f"group must divide {width}, and {group} does not")
+         raise ValueError(f"{width} columns cannot be grouped by {group}")
""",
}
