"""Journals as files: where they are, who writes them and how they are read. What stands in them is ``fsm.journal``'s."""
