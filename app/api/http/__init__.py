"""HTTP itself: bodies, errors, cursors, callers. No resource is named here."""
