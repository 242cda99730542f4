"""Whether a gradient is needed is asked of the first input, and the second one goes without.

Kind: gradients
Report: https://github.com/fbcotter/pytorch_wavelets/issues/65
Fails: autograd
"""

LINES = {
    "_silu_mul_backward": r"""
+     if not ctx.needs_input_grad[0]:
+         return None, None
      dgate, dup = torch.ops.inferlab15.silu_mul_backward(dy, *ctx.saved_tensors)
""",
}
