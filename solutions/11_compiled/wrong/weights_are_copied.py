"""The graph has a copy of the weights.

Fails: graphs
"""

LINES = {
    "GraphRunner.__init__": r"""
-         self._model = model
+         self._model = copy.deepcopy(model)
""",
    "": r"""
+ import copy
  from collections.abc import Callable, Sequence
""",
}
