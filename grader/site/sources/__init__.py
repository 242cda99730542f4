"""What pages are made of: files of the repository, their Markdown, and where their links lead."""
