"""Where the first in line does not fit the others are tried.

From: paged.py
Fails: scheduler
"""


class Scheduler:
    def _admit(self, rows: list[list[int]]) -> None:
        budget = self.max_tokens - len(rows)
        for request in list(self._queue):
            tokens = self._requests[request].tokens
            if len(self.running) == self.max_running:
                break
            shared = self._blocks.admit(request, tokens)
            if shared is None:
                continue
            if len(tokens) - shared > budget:
                self._blocks.release(request)
                continue
            budget -= len(tokens) - shared
            self._queue.remove(request)
            self.running.append(request)
            rows.append([request, shared, len(tokens)])
