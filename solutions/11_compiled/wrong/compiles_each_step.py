"""Each step compiles its own function.

Fails: step, prefill, graphs
"""

LINES = {
    "compile_step": r"""
-     @torch.compile(backend=backend, fullgraph=True)
      def step(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
-         return decode_step(model, cache, tokens, positions, slots)
+         torch.compiler.reset()
+         run = torch.compile(decode_step, backend=backend, fullgraph=True)
+         return run(model, cache, tokens, positions, slots)
""",
}
