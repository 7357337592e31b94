"""Entry of the child. The order matters: the crash reporter stands before anything that could crash is imported."""

import faulthandler
import signal

faulthandler.enable(all_threads=True)
# The supervisor asks for the stacks of a worker that gives no sign of life. Written in C, so a busy worker answers too.
faulthandler.register(signal.SIGUSR1, all_threads=True)

from runner.worker.start import run  # noqa: E402 - see above

if __name__ == "__main__":
    run()
