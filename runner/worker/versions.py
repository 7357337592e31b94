"""The versions of the engine's packages, read off the names of their directories.

``importlib.metadata`` would say the same, but takes longer to import than the rest of the start.
"""

import os
import platform
import sys

PACKAGES = ("mlx", "mlx_lm", "mlx_cpu", "mlx_metal", "mlx_cuda", "transformers", "tokenizers", "numpy")
"""In the spelling of their directories."""


def versions() -> dict[str, str]:
    """Python's version, and those of the packages of ``PACKAGES`` that are installed."""
    found = {"python": platform.python_version()}
    for place in sys.path:
        try:
            names = os.listdir(place or ".")  # noqa: PTH208 - pathlib costs more than the listing
        except OSError:
            continue
        for name in names:
            package, _, version = name.removesuffix(".dist-info").partition("-")
            if name.endswith(".dist-info") and package in PACKAGES:
                found.setdefault(package.replace("_", "-"), version)
    return found
