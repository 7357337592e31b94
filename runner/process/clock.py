"""The real clock, which is the event loop's: under a virtual clock of the loop it is virtual too."""

import anyio


class AnyioClock:
    """Seconds of the running event loop's clock."""

    def now(self) -> float:
        """Seconds, monotonic."""
        return anyio.current_time()
