"""Values of either side: packed, checked, compared, and shown to a student."""
