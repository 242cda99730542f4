"""Programs that run a student's script with what a worker would have, and note what it does."""
