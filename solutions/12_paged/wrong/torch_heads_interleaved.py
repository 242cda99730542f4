"""Query head h reads key head h mod G.

Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
-         grouped = q[row].float().reshape(groups, heads // groups, -1) * q.shape[-1] ** -0.5
+         grouped = q[row].float().reshape(heads // groups, groups, -1) * q.shape[-1] ** -0.5
...
-         weights = torch.softmax(torch.einsum("ghd,sgd->ghs", grouped, k_SGD), -1)
-         o[row] = torch.einsum("ghs,sgd->ghd", weights, v_SGD).reshape(heads, -1).to(q.dtype)
+         weights = torch.softmax(torch.einsum("hgd,sgd->hgs", grouped, k_SGD), -1)
+         o[row] = torch.einsum("hgs,sgd->hgd", weights, v_SGD).reshape(heads, -1).to(q.dtype)
""",
}
