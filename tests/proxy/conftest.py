"""What tests of the conversation share."""

import ctypes
import gc

import pytest


@pytest.fixture
def tidy_heap() -> None:
    """Give back what earlier tests left free: a heap that need not grow meets no ceiling."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
