"""All microbatches go through a chunk before any goes through the next: what gpipe holds.

Fails: schedules
"""

LINES = {
    "interleaved": r"""
-         (first + place, chunk)
-         for first in range(0, microbatches, stages)
-         for chunk in range(chunks)
-         for place in range(stages)
+         (place, chunk)
+         for chunk in range(chunks)
+         for place in range(microbatches)
...
-     ahead = [2 * (stages - stage - 1) + (chunks - 1) * stages for stage in range(stages)]
+     ahead = [2 * (stages - stage - 1) + (chunks - 1) * microbatches for stage in range(stages)]
""",
}
