"""Each token of a prompt sees the whole prompt.

Fails: prefill
"""

LINES = {
    "Prefill.__init__": r"""
-             return _forward(model, cache, tokens, positions, slots)
+             keys = torch.arange(cache.max_len, device=positions.device)
+             mask = (keys < tokens.shape[1]).expand(1, 1, tokens.shape[1], -1)
+             return model(tokens, positions, mask, cache.layers(positions, slots))
""",
}
