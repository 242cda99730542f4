"""A print in the middle of a step breaks the graph in two.

Fails: step, prefill, graphs
"""

LINES = {
    "compile_step": r"""
-     @torch.compile(backend=backend, fullgraph=True)
+     @torch.compile(backend=backend)
      def step(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
-         return decode_step(model, cache, tokens, positions, slots)
+         logits = decode_step(model, cache, tokens + 0, positions, slots)
+         print(end="")
+         torch._dynamo.graph_break()
+         return logits * 1
""",
}
