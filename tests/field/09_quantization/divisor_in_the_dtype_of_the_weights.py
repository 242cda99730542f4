"""The scale is cast to the weights' dtype before they are divided by it.

Kind: precision
Report: https://github.com/Comfy-Org/comfy-kitchen/pull/60
Fails: int4, linears
"""

LINES = {
    "quantize_int4": r"""
-     codes = (groups / scale[..., None]).round() + zero[..., None]
+     codes = (groups / scale.to(w.dtype).float()[..., None]).round() + zero[..., None]
""",
}
