"""Parts of HTML pages and pictures; nothing that a student wrote gets there unescaped."""
