"""How much a run of the tests tries: `dev` (the default and CI's) or `soak` (`make soak`), by TRUEUP_PROFILE."""

import os

PROFILE = os.environ.get("TRUEUP_PROFILE", "dev")
SOAK = PROFILE == "soak"
