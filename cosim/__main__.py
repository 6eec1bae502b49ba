"""``python -m cosim`` and the command ``cosim``."""

import atexit
import gc

YOUNG = 300_000  # objects made between two looks for garbage; imports make 150 000 and leave none


def main() -> None:
    """Run the command line."""
    gc.set_threshold(YOUNG)
    # the interpreter's end looks for garbage twice: 0.2 s, in memory that goes anyway
    atexit.register(gc.freeze)
    from cosim.cli.cli import app
    from cosim.cli.signals import ending_signals_interrupt
    from cosim.cli.streams import standard_streams

    with standard_streams(), ending_signals_interrupt():
        app(prog_name="cosim")


if __name__ == "__main__":
    main()
