"""A report in each form. Nothing here decides."""
