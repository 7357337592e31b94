"""The one channel between supervisor and worker: vocabulary, framing, and the supervisor's end of the socket."""
