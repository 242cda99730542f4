"""The result is float32, whatever q is.

Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
-     o = torch.zeros_like(q)
+     o = torch.zeros(q.shape, device=q.device)
...
-         o[row] = torch.einsum("ghs,sgd->ghd", weights, v_SGD).reshape(heads, -1).to(q.dtype)
+         o[row] = torch.einsum("ghs,sgd->ghd", weights, v_SGD).reshape(heads, -1)
""",
}
