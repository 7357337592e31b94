"""The file under a journal: made anew, locked, written whole lines at the end, never appended to by a second run."""

import errno
import fcntl
import os
from pathlib import Path

from runner.journal.errors import JournalRefused

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
_MODE = 0o600


class JournalFile:
    """One file of a run. Used by one thread.

    Raises:
        JournalRefused: if there is a file of that name already.
        OSError: if it can't be made.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._number = os.open(path, _FLAGS, _MODE)
        except FileExistsError as error:
            raise JournalRefused(
                path, "there is a file of that name already, and a journal holds one run. Choose another name."
            ) from error
        self.size = 0
        """Bytes written."""
        try:
            self._settle_in(path)
        except OSError:
            self.close()
            path.unlink(missing_ok=True)
            raise

    def _settle_in(self, path: Path) -> None:
        try:
            # For readers, who can tell a run that goes on from one that broke off. They hold it for a moment at most.
            fcntl.flock(self._number, fcntl.LOCK_EX)
        except OSError as error:
            # Some network file systems know no locks.
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
                raise
        _sync_directory(path.parent)

    def write(self, data: bytes) -> int:
        """Write as much of ``data`` as there is room for; give how many bytes that were.

        Raises:
            OSError: if not one byte could be written.
        """
        written = os.write(self._number, data)
        self.size += written
        return written

    def sync(self) -> None:
        """Have what was written survive a crash of the machine.

        Raises:
            OSError: if the disk refuses.
        """
        os.fsync(self._number)

    def close(self) -> None:
        """Let go of the file and its lock."""
        os.close(self._number)


def _sync_directory(path: Path) -> None:
    """Have the name survive a crash too. Where directories can't be synchronised, nothing is lost but that."""
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(number)
