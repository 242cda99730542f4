"""dy is flattened by a view, which a transposed one does not have.

Fails: autograd
"""

LINES = {
    "_silu_mul_backward": r"""
-     dgate, dup = torch.ops.inferlab15.silu_mul_backward(dy, *ctx.saved_tensors)
+     flat = dy.view(-1).view(dy.shape)
+     dgate, dup = torch.ops.inferlab15.silu_mul_backward(flat, *ctx.saved_tensors)
""",
}
