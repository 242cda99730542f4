// Pages that are opened from a folder may not read each other: results of a search have no excerpts.
if (location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}
