"""The result is kept in the place of gate.

Fails: autograd
"""

LINES = {
    "_keep_inputs": r"""
-     ctx.save_for_backward(*inputs)
+     ctx.save_for_backward(output, inputs[1])
""",
}
