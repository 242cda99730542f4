"""Parts of the columns are written in x's dtype and added up then: what cancels is lost.

From: variants/numbers_as_words.py
Kind: precision
Report: https://github.com/modular/modular/issues/7165
Fails: kernel
"""

LINES = {
    "int4_matmul": r"""
-     part = torch.empty(split, rows, num_out, device=x.device)
+     part = torch.empty(split, rows, num_out, dtype=x.dtype, device=x.device)
""",
}
