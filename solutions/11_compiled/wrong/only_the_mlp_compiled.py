"""Attention and cache stay eager: each layer's MLP is a graph.

Fails: step, prefill, graphs
"""

LINES = {
    "compile_step": r"""
-     @torch.compile(backend=backend, fullgraph=True)
      def step(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
          return decode_step(model, cache, tokens, positions, slots)

+     for layer in model.layers:
+         layer.mlp.forward = torch.compile(layer.mlp.forward, backend=backend)
      return step
""",
}
