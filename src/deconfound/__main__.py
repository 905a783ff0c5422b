"""The command `deconfound`, also as ``python -m deconfound``."""

import sys


def main() -> int:
    """Run the command; Ctrl-C while it is being loaded ends it with one line, as it does later."""
    try:
        from deconfound.cli import main as run

        return run()
    except KeyboardInterrupt:  # before the command handles its own interrupts
        sys.stderr.write("deconfound: interrupted.\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
