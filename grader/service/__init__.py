"""The grading service: a door to the judge and the course database, open while a course runs."""
