"""What goes back to students: answers to what they ask, their reports, and what is held back."""
