"""The EOS ids of all requests are thrown together.

Fails: scheduler
"""

LINES = {
    "Scheduler.add": r"""
-         self._requests[request] = _Request(list(prompt), max_new_tokens, frozenset(eos_ids))
+         others = [id for other in self._requests.values() for id in other.eos_ids]
+         every = frozenset([*eos_ids, *others])
+         self._requests[request] = _Request(list(prompt), max_new_tokens, every)
""",
}
