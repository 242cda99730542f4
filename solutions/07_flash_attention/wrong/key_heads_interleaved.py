"""Query head h reads key head h % G.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_forward": r"""
-     k_ptr += batch * stride_kb + (head // group).to(tl.int64) * stride_kh
-     v_ptr += batch * stride_vb + (head // group).to(tl.int64) * stride_vh
+     k_ptr += batch * stride_kb + (head % (H // group)).to(tl.int64) * stride_kh
+     v_ptr += batch * stride_vb + (head % (H // group)).to(tl.int64) * stride_vh
""",
}
