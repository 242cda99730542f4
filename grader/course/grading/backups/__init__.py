"""A course in one file, and out of it again."""
