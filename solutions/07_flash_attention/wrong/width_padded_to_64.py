"""A tile is 64 wide, whatever D is.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "flash_attention": r"""
-         D, BLOCK_M, BLOCK_N, max(16, triton.next_power_of_2(D)), causal, False, "ieee",
+         D, BLOCK_M, BLOCK_N, 64, causal, False, "ieee",
""",
    "flash_attention_varlen": r"""
-         D, BLOCK_M, BLOCK_N, max(16, triton.next_power_of_2(D)), causal, True, "ieee",
+         D, BLOCK_M, BLOCK_N, 64, causal, True, "ieee",
""",
}
