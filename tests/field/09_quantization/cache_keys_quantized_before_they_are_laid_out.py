"""A scale stands for a token of all heads: k is read as if heads lay side by side.

Kind: heads
Report: https://github.com/ovg-project/kvcached/issues/424
Fails: cache
"""

LINES = {
    "_Tokens": r"""
-         flat, scales = quantize_int8(x.reshape(-1, x.shape[-1]))
-         codes, scale = flat.reshape(x.shape), scales.reshape(*x.shape[:-1], 1)
+         flat, scales = quantize_int8(x.transpose(1, 2).reshape(-1, x.shape[-1]))
+         codes = flat.reshape(x.transpose(1, 2).shape).transpose(1, 2)
+         scale = scales.reshape(*x.shape[:-1], 1)
""",
}
