"""A course's home at a git host: its template, and a repository for each student, by the API."""
