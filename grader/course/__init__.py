"""Course operations, for instructors: a student's tree is without this package."""
