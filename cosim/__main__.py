"""``python -m cosim`` and the command ``cosim``."""

from cosim.cli.cli import app


def main() -> None:
    """Run the command line."""
    app(prog_name="cosim")


if __name__ == "__main__":
    main()
