"""The command line: everything the pages do, without a browser. Progress goes to stderr."""

from __future__ import annotations

import argparse
import errno
import io
import os
import signal
import sys

from core.commands import experiments, figures, maps, models
from core.quiet import ignore_expected_warnings
from core.types import InputError, NotApplicable


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; returns the exit status: 0 done, 1 a bad request or a method that does not apply."""
    ignore_expected_warnings()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without the character ± shows \\xb1 for it
            stream.reconfigure(errors="backslashreplace")
    options = parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except (InputError, NotApplicable) as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python tries again as it ends
        if error.errno == errno.ENOSPC:
            print(f"The output could not be written: {error.strerror}.", file=sys.stderr)
            return 1
    except KeyboardInterrupt:
        return 130
    return 0


def parser() -> argparse.ArgumentParser:
    """All commands with their flags."""
    top = argparse.ArgumentParser(prog="python -m core", description=__doc__)
    commands = top.add_subparsers(required=True, metavar="command")
    for family in (models, maps, experiments, figures):
        family.add(commands)
    return top


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # see core/__init__.py
    sys.exit(main())
