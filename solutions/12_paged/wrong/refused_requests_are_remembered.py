"""What add has refused is known ever after.

Fails: scheduler
"""

LINES = {
    "Scheduler.add": r"""
-         if not prompt:
-             raise ValueError("prompt is empty")
-         if len(prompt) + max_new_tokens > self._capacity:
-             raise ValueError(f"prompt and answer do not fit into {self._capacity} tokens")
-         self._requests[request] = _Request(list(prompt), max_new_tokens, frozenset(eos_ids))
-         self._queue.append(request)
+         self._requests[request] = _Request(list(prompt), max_new_tokens, frozenset(eos_ids))
+         if not prompt:
+             raise ValueError("prompt is empty")
+         if len(prompt) + max_new_tokens > self._capacity:
+             raise ValueError(f"prompt and answer do not fit into {self._capacity} tokens")
+         self._queue.append(request)
""",
}
