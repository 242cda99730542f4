"""Leaves with a good status while it is imported.

Expect:
    scale: error skipped
    score: 0
    says: SystemExit
"""

import sys

sys.exit(0)
