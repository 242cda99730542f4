"""The offset of a row of the packed weights is int32: stacked experts pass it.

From: variants/whole_rows_by_strides.py
Kind: addresses
Report: https://github.com/unslothai/unsloth/pull/6884
Report: https://github.com/bitsandbytes-foundation/bitsandbytes/pull/1784
Fails: kernel
"""

LINES = {
    "matmul_kernel": r"""
-     both = tl.load(packed + out * spr + byte * spc, mask=inside, other=0)
+     both = tl.load(packed + tl.program_id(0) * spr + byte * spc, mask=inside, other=0)
""",
}
