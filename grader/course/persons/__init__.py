"""All that a course keeps of one person: given out whole, or deleted wherever it lies."""
