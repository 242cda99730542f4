"""The gradients forget dy.

Fails: autograd
"""

LINES = {
    "_silu_mul_backward": r"""
-     dgate, dup = torch.ops.inferlab15.silu_mul_backward(dy, *ctx.saved_tensors)
+     dgate, dup = torch.ops.inferlab15.silu_mul_backward(torch.ones_like(dy), *ctx.saved_tensors)
""",
}
