"""Ends an answer before the first of its stop strings. Text in, text out; knows nothing of tokens."""

from collections.abc import Iterable


class StopStrings:
    """Lets text through up to the first stop string, and holds back what could be the start of one.

    ``push`` takes text and gives what is safe to show. Once ``found``, nothing comes any more. ``flush`` gives what was
    held back when the answer ended for another reason.
    """

    def __init__(self, stops: Iterable[str]) -> None:
        self._stops = tuple(stops)
        self._held = ""
        self.found = False

    def push(self, text: str) -> str:
        """Take the next text; give what can't be part of a stop string."""
        if self.found:
            return ""
        held = self._held + text
        starts = [start for stop in self._stops if (start := held.find(stop)) >= 0]
        if starts:
            self.found = True
            self._held = ""
            return held[: min(starts)]
        keep = self._possible_start(held)
        self._held = held[len(held) - keep :]
        return held[: len(held) - keep]

    def flush(self) -> str:
        """Give what is still held back. The answer is over."""
        held, self._held = self._held, ""
        return held

    def _possible_start(self, text: str) -> int:
        """Length of the longest end of ``text`` with which a stop string begins."""
        longest = max((len(stop) for stop in self._stops), default=1) - 1
        for length in range(min(longest, len(text)), 0, -1):
            end = text[len(text) - length :]
            if any(stop.startswith(end) for stop in self._stops):
                return length
        return 0
