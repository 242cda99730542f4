"""The fake of add_rms_norm has the strides of x.

Fails: fake
"""

LINES = {
    "_fake_norm": r"""
-     return _new(x, *x.shape)
+     return torch.empty_like(x)
""",
}
