"""`python -m trueup.cli` is `trueup`."""

from trueup.cli.main import main

main()
