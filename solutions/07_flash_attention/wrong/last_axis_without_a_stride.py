"""The elements of a row are read one behind the other: no stride along D.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_attend": r"""
-         k_at = k_ptr + columns.to(tl.int64)[None, :] * stride_ks + d[:, None] * stride_kd
-         v_at = v_ptr + columns.to(tl.int64)[:, None] * stride_vs + d[None, :] * stride_vd
+         k_at = k_ptr + columns.to(tl.int64)[None, :] * stride_ks + d[:, None]
+         v_at = v_ptr + columns.to(tl.int64)[:, None] * stride_vs + d[None, :]
""",
}
