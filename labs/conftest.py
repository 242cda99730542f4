"""Lets ``pytest labs/05_kv_cache``, or an editor's test explorer, run the public tests.

The judge grades your file as ``make grade`` does, and each test shows its verdict.
"""

from grader.cli.explorer import (
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_runtest_protocol,
)

__all__ = ["pytest_collection_modifyitems", "pytest_configure", "pytest_runtest_protocol"]
