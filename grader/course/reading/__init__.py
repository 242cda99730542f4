"""What people say when they read work; a program decides nothing of it."""
