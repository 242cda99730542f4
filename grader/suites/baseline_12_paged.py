"""Baseline of lab 12: torch's attention on contiguous caches, with the same tokens.

In the races each row fills one region of the pool, its blocks shuffled within it. Attention does
not depend on the order of keys, so the region read from front to back is the row's cache, and
nothing has to be gathered: only the few queries go where their region is.
"""

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


def paged_attention(
    q: Tensor,  # [B, H, D]
    k_pool: Tensor,  # [B * M, P, G, D]
    v_pool: Tensor,  # [B * M, P, G, D]
    tables: Tensor,  # [B, M]: row b has the blocks r * M to r * M + M - 1 of its region r
    lengths: Tensor,  # [B], all M * P
) -> Tensor:  # [B, H, D]
    """Attend each region of the pools to the query of its row."""
    rows, entries = tables.shape
    regions = (tables[:, 0] // entries).long()
    keys, values = (
        pool.view(rows, entries * pool.shape[1], *pool.shape[2:]).transpose(1, 2)
        for pool in (k_pool, v_pool)
    )
    queries = torch.empty_like(q)
    queries[regions] = q
    o = scaled_dot_product_attention(queries.unsqueeze(2), keys, values, enable_gqa=True)
    return o.squeeze(2)[regions]
