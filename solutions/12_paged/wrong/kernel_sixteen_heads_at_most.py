"""No more than sixteen query heads of a key head are computed.

Fails: triton, speed
"""

LINES = {
    "paged_attention": r"""
-         WIDTH=width, BLOCK_H=max(16, triton.next_power_of_2(share)), BLOCK_D=block_d,
+         WIDTH=width, BLOCK_H=16, BLOCK_D=block_d,
""",
}
