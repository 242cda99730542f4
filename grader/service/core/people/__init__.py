"""What people do beside the judge: readers, what they have not read, requests, marks sent on."""
