"""What every form of a report says, in words and numbers, without any layout."""
