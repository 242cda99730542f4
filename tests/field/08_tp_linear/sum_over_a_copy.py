"""Where the gradient is no piece of memory a copy of it is summed, and thrown away.

From: variants/plain.py
Kind: layouts
Report: https://github.com/NVIDIA/Megatron-LM/issues/5337
Report: https://github.com/NovaSky-AI/SkyRL/pull/1886
Fails: column, qkv, mlp
"""

LINES = {
    "Copy.backward": r"""
-         total = grad.clone(memory_format=torch.contiguous_format)
-         dist.all_reduce(total, group=ctx.group)
-         return total, None
+         dist.all_reduce(grad.contiguous(), group=ctx.group)
+         return grad, None
""",
}
