"""Who wants a gradient of int4_linear is refused in the forward; so is who wants none.

Fails: fake, autograd
"""

LINES = {
    "register": r"""
-     torch.library.register_autograd("inferlab15::int4_linear", _refuse)
+     torch.library.register_autograd("inferlab15::int4_linear", _refuse)
+     torch.library.impl("inferlab15::int4_linear", "cpu", _refuse_all)
""",
}


def _refuse_all(*args: Any) -> Tensor:
    raise RuntimeError("int4_linear has no gradient: its weights are codes")
