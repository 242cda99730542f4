"""The mask is made in front of the graph and enters it as an input.

Fails: step
"""

LINES = {
    "compile_step": r"""
-     def step(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
-         return decode_step(model, cache, tokens, positions, slots)
+     def inner(tokens: Tensor, positions: Tensor, slots: Tensor, mask: Tensor) -> Tensor:
+         places = positions.unsqueeze(1)
+         return model(tokens.unsqueeze(1), places, mask, cache.layers(places, slots))[:, 0]
+
+     def step(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
+         mask = torch.arange(cache.max_len) <= positions.view(-1, 1, 1, 1)
+         return inner(tokens, positions, slots, mask)
""",
}
