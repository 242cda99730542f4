"""Scores and softmax are computed in the dtype of q.

Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
-         k_SGD, v_SGD = (pool[blocks].flatten(0, 1)[:length].float() for pool in (k_pool, v_pool))
-         grouped = q[row].float().reshape(groups, heads // groups, -1) * q.shape[-1] ** -0.5
+         k_SGD, v_SGD = (pool[blocks].flatten(0, 1)[:length] for pool in (k_pool, v_pool))
+         grouped = q[row].reshape(groups, heads // groups, -1) * q.shape[-1] ** -0.5
""",
}
