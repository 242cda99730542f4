"""Entries are loaded without a mask: behind the last row lies memory of others.

Kind: addresses
Report: https://github.com/vllm-project/vllm/pull/56862
Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-         block = tl.load(
-             tables + (positions // size) * table_strides[1], mask=inside, other=0
-         ).to(tl.int64)  # fmt: skip
+         block = tl.load(tables + (positions // size) * table_strides[1]).to(tl.int64)
""",
}
