"""``lab gradebook`` and its commands: what they show of marks, and what staff say of them."""
