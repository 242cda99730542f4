"""Launches from a learning platform by LTI 1.3, as an option beside tokens."""
