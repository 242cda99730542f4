"""Halves are rounded away from zero, as roundf does and rint does not.

Kind: parameters
Report: https://github.com/tenstorrent/tt-metal/issues/56525
Report: https://github.com/pytorch/pytorch/pull/13960
Fails: int8, cache
"""

LINES = {
    "quantize_int8": r"""
-     codes = (wide / scale[:, None]).round().clamp(-127, 127)
+     steps = wide / scale[:, None]
+     codes = ((steps.abs() + 0.5).floor() * steps.sign()).clamp(-127, 127)
""",
}
