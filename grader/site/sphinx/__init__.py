"""What Sphinx is told: settings, anchors, formulas, the switch between languages, search."""
