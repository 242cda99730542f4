"""The largest magnitude is held at no less than 1e-8: rows below it lose their digits.

Kind: levels
Report: https://github.com/ModelCloud/GPTQModel/pull/1531
Report: https://github.com/pytorch/ao/issues/4713
Fails: int8
"""

LINES = {
    "quantize_int8": r"""
-     largest = wide.abs().amax(1)
-     scale = torch.where(largest > 0, largest / 127, 1.0)
+     largest = wide.abs().amax(1)
+     scale = torch.where(largest > 0, (largest / 127).clamp(min=1e-8), 1.0)
""",
}
