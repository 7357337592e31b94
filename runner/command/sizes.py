"""Sizes in bytes as people write and read them."""

import re

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?", re.ASCII | re.IGNORECASE)


def parse_size(text: str) -> int:
    """Bytes from ``2GiB``, ``500MB``, ``1.5g`` or ``1000000``.

    Raises:
        ValueError: if it is no size, or 0.
    """
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * _UNITS[(match[2] or "").lower()]) if match else 0
    if size < 1:
        raise ValueError(f"{text!r} is no size. Write bytes, or a unit: 2GiB, 500MB.")
    return size


def size_text(size: int) -> str:
    """A size for people: ``98.4 MB``."""
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} B"
