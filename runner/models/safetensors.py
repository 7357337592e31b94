"""The header of a safetensors file, read without any library and without reading the numbers.

Here lives the file format: 8 bytes with the length of the header, the header as JSON, the numbers. A file that was cut
short on its way is found by its length alone, before a child is started on it.
"""

import math
import struct
from pathlib import Path

import msgspec

from fsm.failure import Kind
from runner.models.errors import ModelError

HEADER_LIMIT = 100_000_000
"""Bytes. The bound that the format's own library sets."""

_BITS = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 16),
    **dict.fromkeys(("BOOL", "I8", "U8", "F8_E4M3", "F8_E5M2", "F8_E8M0"), 8),
}
"""Width of the kinds of number that mlx and the format share. A kind that is not here is not held against the file."""


class Entry(msgspec.Struct, frozen=True):
    """One tensor as the header names it: kind of number, shape, and from where to where its bytes go."""

    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


class Header(msgspec.Struct, frozen=True):
    """What a whole file holds."""

    tensors: dict[str, Entry]
    bytes: int
    """Of numbers, without the header."""


def read_header(path: Path) -> Header:
    """Read the header and hold it against the length of the file.

    Raises:
        ModelError: ``model_invalid``, and how many bytes are missing, for a file cut short; ``model_invalid`` for one
            that is no safetensors file, or whose header does not fit its data; ``model_missing`` for one that can't be
            read.
    """
    try:
        length = path.stat().st_size
        with path.open("rb") as file:
            prefix = file.read(8)
            size = _header_size(path, prefix, length)
            text = file.read(size)
    except OSError as error:
        raise ModelError(Kind.MODEL_MISSING, f"{path} can't be read: {error.strerror or error}.") from error
    tensors = _decoded(path, text)
    needed = max((entry.data_offsets[1] for entry in tensors.values()), default=0)
    _same_length(path, length, 8 + size + needed)
    for name, entry in tensors.items():
        _fits(path, name, entry)
    return Header(tensors, needed)


def _invalid(path: Path, what: str) -> ModelError:
    return ModelError(Kind.MODEL_INVALID, f"{path} {what}.")


def _header_size(path: Path, prefix: bytes, length: int) -> int:
    if length == 0:
        raise _invalid(path, "is empty")
    if prefix == b"version ":  # no header is that long; it is how a Git LFS pointer begins
        raise ModelError(
            Kind.MODEL_INVALID,
            f"{path} is a Git LFS pointer, not the weights.",
            remedy="Fetch the weights with `git lfs pull`, then load again.",
        )
    if len(prefix) < 8:
        raise _invalid(path, f"is cut short: it has {length} of at least 8 bytes")
    (size,) = struct.unpack("<Q", prefix)
    if size > HEADER_LIMIT:
        raise _invalid(path, f"is no safetensors file: it claims a header of {size:,} bytes")
    if 8 + size > length:
        raise _invalid(path, f"is cut short inside its header: at least {8 + size - length:,} bytes are missing")
    return size


def _decoded(path: Path, text: bytes) -> dict[str, Entry]:
    try:
        raw = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        raw.pop("__metadata__", None)
        return {name: msgspec.json.decode(entry, type=Entry) for name, entry in raw.items()}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _invalid(path, f"has a header that can't be read ({error})") from error


def _same_length(path: Path, length: int, expected: int) -> None:
    if length < expected:
        raise _invalid(
            path, f"is cut short: {expected - length:,} bytes are missing, it has {length:,} of {expected:,}"
        )
    if length > expected:
        raise _invalid(path, f"holds {length - expected:,} bytes more than its header names")


def _fits(path: Path, name: str, entry: Entry) -> None:
    begin, end = entry.data_offsets
    if begin < 0 or end < begin or any(size < 0 for size in entry.shape):
        raise _invalid(path, f"names bytes {begin} to {end} for {name}, which is no place in the file")
    bits = _BITS.get(entry.dtype)
    if bits is not None and (end - begin) * 8 != math.prod(entry.shape) * bits:
        shape = " x ".join(map(str, entry.shape)) or "one number"
        raise _invalid(path, f"gives {name} ({entry.dtype}, {shape}) {end - begin} bytes, which do not fit")
