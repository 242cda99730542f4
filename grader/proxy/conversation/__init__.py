"""One worker's wire, from the judge's side: requests go out, no answer is believed."""
