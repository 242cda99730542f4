"""Bytes are floats.

Fails: bytes
"""

LINES = {
    "step_bytes": r"""
-         "weights": math.ceil(weights * weight_bytes),
+         "weights": weights * weight_bytes,
""",
}
