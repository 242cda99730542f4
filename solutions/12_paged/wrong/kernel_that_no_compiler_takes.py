"""The sum begins in float16 and goes on in float32, which the interpreter lets pass.

Fails: triton
"""

LINES = {
    "_attend": r"""
-     acc = tl.zeros([BLOCK_H, BLOCK_D], tl.float32)
+     acc = tl.zeros([BLOCK_H, BLOCK_D], tl.float16)
""",
}
