"""Keys are dealt 16 to a part, and torch joins what the parts give: for 16 heads as much as the keys.

Fails: triton, speed
"""

LINES = {
    "paged_attention": r"""
-     block_n = _keys_at_a_time(q.element_size(), block_d)
-     parts = max(1, min(PROGRAMS // (batch * groups), triton.cdiv(longest, SHORTEST)))
-     keys = triton.cdiv(longest, parts * block_n) * block_n
+     block_n = keys = 16
+     parts = triton.cdiv(longest, keys)
...
-         _join[(batch * heads,)](
-             results, sums, o, parts,
-             WIDTH=width, BLOCK_D=block_d, BLOCK_S=triton.next_power_of_2(parts), num_warps=1,
-         )  # fmt: skip
+         weights = torch.softmax(sums / LOG2_E, -1).nan_to_num()
+         o.copy_((weights[..., None] * results).sum(2))
""",
}
