"""Long rows take E[x²] - E[x]² and no less than 0: it is no NaN, and has no digits either.

From: variants/tiles.py
Kind: levels
Report: https://github.com/NVIDIA/trt-samples-for-hackathon-cn/issues/88
Report: https://github.com/ml-explore/mlx/issues/2238
Fails: forward
"""

LINES = {
    "forward_kernel": r"""
-             apart = tl.where(mask, value.to(tl.float32) - center[:, None], 0.0)
-             squares += tl.sum(apart * apart, axis=1)
-         scale = tl.rsqrt(squares / width + eps)
+             wide = value.to(tl.float32)
+             squares += tl.sum(wide * wide, axis=1)
+         scale = tl.rsqrt(tl.maximum(squares / width - center * center, 0.0) + eps)
""",
}
