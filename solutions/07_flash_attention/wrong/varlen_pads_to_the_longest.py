"""Sequences are padded to the longest and masked: right, but as large as the longest times B.

From: variants/simple.py
Fails: varlen
"""

LINES = {
    "flash_attention_varlen": r"""
-     BLOCK_M, BLOCK_N, warps, stages = _sizes(q)
-     row_blocks = triton.cdiv(int(cu_seqlens_q.diff().max()), BLOCK_M)
-     q_, k_, v_, o_ = (  # strides of batch, head, row, column: all sequences lie in one
-         (0, x.stride(1), x.stride(0), x.stride(2)) for x in (q, k, v, o)
-     )
-     _forward[(row_blocks * B * H,)](
-         q, k, v, o, None, cu_seqlens_q, cu_seqlens_k, D**-0.5 * LOG2_E,
-         0, 0, H, H // k.shape[1], row_blocks, *q_, *k_, *v_, *o_,
-         D, BLOCK_M, BLOCK_N, max(16, triton.next_power_of_2(D)), causal, True, "ieee",
-         num_warps=warps, num_stages=stages,
-     )  # fmt: skip
+     padded = q.new_zeros(B, int(cu_seqlens_q.diff().max()), H, D)
+     starts_q, starts_k = cu_seqlens_q.tolist(), cu_seqlens_k.tolist()
+     for b in range(B):
+         rows, keys = slice(*starts_q[b : b + 2]), slice(*starts_k[b : b + 2])
+         one = (x.transpose(0, 1)[None] for x in (q[rows], k[keys], v[keys]))
+         padded[b, : rows.stop - rows.start] = flash_attention(*one, causal)[0][0].transpose(0, 1)
+         o[rows] = padded[b, : rows.stop - rows.start]
""",
}
