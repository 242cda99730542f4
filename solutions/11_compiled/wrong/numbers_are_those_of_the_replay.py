"""GraphRunner captures a size anew when the model's numbers change.

Fails: graphs
"""

LINES = {
    "GraphRunner.__init__": r"""
+         self._make_graph = make_graph
+         self._eps = self._numbers(model)
          self._graphs: dict[int, tuple[Any, Tensor, Tensor]] = {}
""",
    "GraphRunner.step": r"""
          size = bucket(n, self._sizes)
+         if self._numbers(self._model) != self._eps:
+             self._graphs[size] = self._capture(size, self._make_graph())
""",
    "GraphRunner._check": r"""
+     @staticmethod
+     def _numbers(model: Llama) -> list[float]:
+         return [module.eps for module in model.modules() if hasattr(module, "eps")]
+
      def _check(self, tokens: list[int], positions: list[int], slots: list[int]) -> None:
""",
}
