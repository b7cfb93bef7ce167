"""Run `trueup` with `python -m trueup`."""

from trueup.cli.main import main

if __name__ == "__main__":
    main()
