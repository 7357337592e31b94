"""The worker process by itself: a real child over a real socket, and the parts of it that need neither."""
