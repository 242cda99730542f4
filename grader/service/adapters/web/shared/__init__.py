"""What all routes share: the site, who asks and may what, and what is answered."""
