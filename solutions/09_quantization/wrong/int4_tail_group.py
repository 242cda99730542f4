"""Columns beyond the last whole group join it, and are not refused.

From: variants/simple.py
Fails: int4, linears, model
"""

LINES = {
    "quantize_int4": r"""
-         raise ValueError(f"group must divide {width}, and {group} does not")
+         whole = width // group * group or width
+         return quantize_int4(w[:, : whole - whole % 2], min(group, whole - whole % 2))
""",
}
