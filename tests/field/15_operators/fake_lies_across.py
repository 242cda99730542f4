"""The fake of int4_linear lies in memory column by column; the result does not.

Kind: layouts
Report: https://github.com/NVIDIA/cuEquivariance/issues/223
Report: https://github.com/pytorch/pytorch/issues/145094
Fails: fake
"""

LINES = {
    "_fake_int4": r"""
-     return _new(x, x.shape[0], packed.shape[0])
+     return _new(x, packed.shape[0], x.shape[0]).t()
""",
}
