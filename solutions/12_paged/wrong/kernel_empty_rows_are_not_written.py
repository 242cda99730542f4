"""A row of no token is left as the memory was.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
      length = tl.load(lengths + row * length_strides[0])
+     if length == 0:
+         return
""",
}
