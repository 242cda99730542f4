"""A test's calls, whole and in order, and as a script that a debugger steps through."""
