"""The backward of int4_linear gives nothing in place of an error.

Fails: autograd
"""

LINES = {
    "_refuse": r"""
-     raise RuntimeError("int4_linear has no gradient: its weights are codes")
+     return None, None, None, None, None
""",
}
