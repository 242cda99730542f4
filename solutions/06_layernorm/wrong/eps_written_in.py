"""Uses 1e-5 whatever eps is passed.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "layer_norm_forward": r"""
-             eps,
+             1e-5,
""",
}
