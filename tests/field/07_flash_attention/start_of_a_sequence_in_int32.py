"""The first row of a packed sequence times the stride of a row is computed in int32.

From: variants/simple.py
Kind: addresses
Report: https://github.com/Knowledgator/FlashDeBERTa/pull/11
Fails: varlen
"""

LINES = {
    "_forward": r"""
-         q_start = tl.load(starts_q + batch).to(tl.int64)
-         k_start = tl.load(starts_k + batch).to(tl.int64)
+         q_start = tl.load(starts_q + batch)
+         k_start = tl.load(starts_k + batch)
""",
}
