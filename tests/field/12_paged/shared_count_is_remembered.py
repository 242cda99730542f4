"""What a request shares is kept from when it was first looked at, though it had to wait then.

Kind: state
Report: https://github.com/vllm-project/vllm/pull/17305
Fails: scheduler
"""

LINES = {
    "_Request": r"""
      output: list[int] = field(default_factory=list[int])
+     shared: int | None = None
""",
    "Scheduler._admit": r"""
              shared = self._blocks.admit(self._queue[0], tokens)
              if shared is None:
                  break
+             state = self._requests[self._queue[0]]
+             state.shared = shared if state.shared is None else state.shared
...
-             budget -= len(tokens) - shared
+             budget -= len(tokens) - state.shared
...
-             rows.append([self.running[-1], shared, len(tokens)])
+             rows.append([self.running[-1], state.shared, len(tokens)])
""",
}
