"""Hidden suites, one file per lab: instructors only, never published, never in view of a worker."""
