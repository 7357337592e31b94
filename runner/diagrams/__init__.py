"""The pictures of ``fsm.drawing`` as files: all formats, written, compared, and rendered where an engine is installed."""
