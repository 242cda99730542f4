"""No gradients are registered.

Fails: autograd
"""

LINES = {
    "register": r"""
-     torch.library.register_autograd(
-         "inferlab15::silu_mul", _silu_mul_backward, setup_context=_keep_inputs
-     )
-     torch.library.register_autograd("inferlab15::int4_linear", _refuse)
""",
}
