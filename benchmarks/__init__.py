"""Figures, measured side by side with a reference in the same run. Nothing here is a test: nothing asserts a time."""
