"""The variance is rounded to x's dtype after eps is added: in float16 eps is lost.

From: variants/simple.py
Kind: precision
Report: https://github.com/deepspeedai/DeepSpeed/issues/581
Report: https://github.com/pytorch/pytorch/issues/41527
Fails: forward, backward
"""

LINES = {
    "forward_kernel": r"""
-     scale = 1 / tl.sqrt(tl.sum(apart * apart) / width + eps)
+     variance = (tl.sum(apart * apart) / width + eps).to(x.dtype.element_ty)
+     scale = 1 / tl.sqrt(variance.to(tl.float32))
""",
}
