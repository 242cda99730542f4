"""Of eos_ids the first one alone counts.

Fails: scheduler
"""

LINES = {
    "Scheduler.add": r"""
-         self._requests[request] = _Request(list(prompt), max_new_tokens, frozenset(eos_ids))
+         self._requests[request] = _Request(list(prompt), max_new_tokens, frozenset(eos_ids[:1]))
""",
}
