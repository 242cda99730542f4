"""How much is fuzzed: in CI a little and always the same, in ``make fuzz`` more and at random."""

import os

from hypothesis import HealthCheck, settings

EXAMPLES = int(os.environ.get("EXAMPLES") or 0)  # of each test; 0 for what CI runs


def fuzz(few: int) -> settings:
    """Return the settings of a test that tries ``few`` examples in CI."""
    return settings(
        max_examples=EXAMPLES or few,
        derandomize=not EXAMPLES,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
