"""The entry of the command ``runner``, also as ``python -m runner``. Everything else is in ``runner.command``."""

import sys


def main() -> None:
    """Run the command with the arguments of this process, and end it with the command's exit code."""
    # Imported here, so that Ctrl-C ends the command in order from its first moment on.
    try:
        from runner.command.app import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
