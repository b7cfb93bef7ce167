"""`python -m trueup` is `trueup`."""

from trueup.cli.main import main

if __name__ == "__main__":
    main()
