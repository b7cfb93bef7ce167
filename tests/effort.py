"""How hard a run of the tests tries: `dev` (the default and CI's) or `soak` (`make soak`), by TRUEUP_PROFILE."""

import os

PROFILE = os.environ.get("TRUEUP_PROFILE", "dev")
SOAK = PROFILE == "soak"

# Tests that may run a second time when they fail, each with the reason. Their subject is a real clock or a real process, and
# other work on the machine can get in its way. Everything else must pass the first time. A soak retries nothing.
RETRIED: dict[str, str] = {}
