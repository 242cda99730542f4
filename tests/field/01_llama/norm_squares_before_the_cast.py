"""x is converted to float32, but its squares are those of its own dtype.

From: variants/plain.py
Kind: levels
Report: https://github.com/jingyaogong/minimind/issues/301
Fails: norm
"""

LINES = {
    "rms_norm": r"""
-     rms = torch.sqrt(wide.square().mean(-1, keepdim=True) + eps)
+     rms = torch.sqrt(x.square().mean(-1, keepdim=True) + eps)
""",
}
