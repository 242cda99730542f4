"""All is said of the context.

Fails: flops, bytes, memory
"""

LINES = {
    "_check_step": r"""
-         raise ValueError(f"batch is {batch}, and should be 1 or more")
+         raise ValueError("the context is no step")
...
-         raise ValueError(f"new is {new}, and should be 1 or more")
+         raise ValueError("the context is no step")
""",
}
