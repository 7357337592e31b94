"""What is guaranteed, written by hand. Every level of the proof asserts against this file, never against the table.

``MATRIX`` says for each state and trigger what may come of it, in the plain case: the event is about this incarnation, the
incarnation is not settled, and the process is up. ``-`` ignored, ``x`` refused, ``=`` stays, or the first letter of the state
moved to; more than one where facts beside the state decide.
"""

STATES = ("Idle", "Loading", "Running", "Failed", "Shutdown")

#                     Idle  Loading  Running  Failed  Shutdown
MATRIX = {
    "start":             ("=", "=", "=", "x", "x"),
    "load":              ("L", "x", "x", "x", "x"),
    "unload":            ("=", "x", "=", "x", "x"),
    "shutdown":          ("S", "S", "S", "=", "="),
    "restart":           ("x", "x", "x", "x", "x"),
    "submit":            ("x", "x", "=x", "x", "x"),
    "spawned":           ("-", "-", "-", "-", "-"),
    "spawn_failed":      ("-", "-", "-", "-", "-"),
    "hello":             ("-F", "-F", "-", "-", "-"),
    "load_progress":     ("-", "=", "-", "-", "-"),
    "loaded":            ("-", "R", "-", "-", "-"),
    "unloaded":          ("-", "-", "-I", "-", "-"),
    "oom":               ("F", "F", "F", "=", "F"),
    "worker_failed":     ("F", "F", "F", "=", "="),
    "protocol_broken":   ("F", "F", "F", "-", "-"),
    "exited":            ("F", "F", "F", "=-", "=F-"),
    "hung":              ("F", "F", "F", "-", "-"),
    "supervisor_late":   ("=", "=", "=", "=", "="),
    "start_timeout":     ("-", "-", "-", "-", "-"),
    "load_timeout":      ("-", "F", "-", "-", "-"),
    "prefill_timeout":   ("-", "-", "F", "-", "-"),
    "decode_timeout":    ("-", "-", "F", "-", "-"),
    "cancel_timeout":    ("-", "-", "F", "-", "-"),
    "unload_timeout":    ("-", "-", "F", "-", "-"),
    "drain_timeout":     ("-", "-", "-=", "-", "-="),
    "ask_timeout":       ("-", "-", "-", "-", "-="),
    "terminate_timeout": ("-", "-", "-", "-=", "-="),
    "kill_timeout":      ("-", "-", "-", "-=", "-="),
    "bye":               ("-", "-", "-", "-", "="),
    "settled":           ("-", "-", "-", "=", "=F"),
}  # fmt: skip

SETTLED = {
    "shutdown": "=",
    "restart": "=",
    "start": "x",
    "load": "x",
    "unload": "x",
    "submit": "x",
}
"""What a settled Failed or Shutdown makes of a command. Every other trigger is ignored there."""

REQUEST_MATRIX = {
    #                     Queued  Prefill  Decode
    "request_started":   ("Prefill", "-", "-"),
    "request_progress":  ("-", "=", "-"),
    "first_token":       ("-", "Decode", "-"),
    "request_done":      ("-", "Done", "Done"),
    "request_cancelled": ("Cancelled", "Cancelled", "Cancelled"),
    "request_failed":    ("Failed", "Failed", "Failed"),
    "cancel":            ("Cancelled", "=", "="),
}  # fmt: skip
"""What a worker's report or a cancel makes of a request that has not ended; one that has is never changed."""

CAUSE_ORDER = ("oom", "report", "trigger", "exit")
"""The sharper cause first. Until it is settled a cause is only ever replaced by one further to the left, or, for ``exit``, by a
later reading of the same exit."""
