"""The head is left out of the offsets of k and v.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_forward": r"""
-     k_ptr += batch * stride_kb + (head // group).to(tl.int64) * stride_kh
-     v_ptr += batch * stride_vb + (head // group).to(tl.int64) * stride_vh
+     k_ptr += batch * stride_kb + (head * 0).to(tl.int64) * stride_kh
+     v_ptr += batch * stride_vb + (head * 0).to(tl.int64) * stride_vh
""",
}
