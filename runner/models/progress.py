"""How far a model has come on its way to the disk.

Here lives the value that is reported, nothing else: it is shared by the supervisor and by the child that does the work,
so it needs neither anyio nor mlx.
"""

import msgspec


class Progress(msgspec.Struct, frozen=True):
    """A step on the way, and how far it is.

    ``step`` is ``waiting`` (another process prepares the same model), ``download`` and ``verify`` and ``unpack`` (in
    bytes), or ``convert`` (in tensors). ``total`` is 0 where it is not known.
    """

    step: str
    done: int = 0
    total: int = 0
