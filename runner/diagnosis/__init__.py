"""From what a process left behind to the cause of its failure: pure functions, and the table of known texts."""
