"""Ends its process while it is imported.

Expect:
    scale: crashed skipped
    score: 0
    says: ended itself with status 0
"""

import os

os._exit(0)
