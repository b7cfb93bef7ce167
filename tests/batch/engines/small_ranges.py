"""`trueup` with ranges of a few lines, so that a small file is work for several nodes."""

from functools import partial
from unittest.mock import patch

from trueup.batch.sift import SiftOptions
from trueup.cli.main import main

if __name__ == "__main__":
    with patch("trueup.batch.sift.SiftOptions", partial(SiftOptions, range_size=3000)):
        main()
