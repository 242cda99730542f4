"""Values are read by the strides of the keys.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-     v_pool += group * v_strides[2]
+     v_pool += group * k_strides[2]
...
-         v_at = block * v_strides[0] + offset * v_strides[1]
+         v_at = block * k_strides[0] + offset * k_strides[1]
...
-         v = tl.load(v_pool + v_at[:, None] + d[None, :] * v_strides[3], mask=seen, other=0.0)
+         v = tl.load(v_pool + v_at[:, None] + d[None, :] * k_strides[3], mask=seen, other=0.0)
""",
}
