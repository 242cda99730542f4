"""The fake of add_rms_norm gives residual back.

Fails: fake
"""

LINES = {
    "_fake_norm": r"""
-     return _new(x, *x.shape)
+     return residual
""",
}
