"""Ids are kept in 16 bits, as were those of vocabularies below 65,536.

Kind: sizes
Report: https://github.com/cryscan/web-rwkv/pull/54
Report: https://github.com/alasdairforsythe/tokenmonster/issues/23
Fails: pad
"""

LINES = {
    "left_pad": r"""
+     tokens_BT = tokens_BT % 2**16
      # What is real follows from the lengths: pad_id may well occur inside a prompt.
""",
}
