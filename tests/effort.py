"""The effort of a test run, from TRUEUP_PROFILE: `dev` (the default, also in CI) or `soak` (`make soak`)."""

import os

PROFILE = os.environ.get("TRUEUP_PROFILE", "dev")
SOAK = PROFILE == "soak"

# Tests that may run a second time when they fail, each with the reason. Their subject is a real clock or a real process, and
# other work on the machine can get in its way. Everything else must pass the first time. A soak retries nothing.
RETRIED: dict[str, str] = {}

# The additional work of a soak, by the file that does it; `make soak` prints this.
LONGER = {
    "tests/conftest.py": "every property: 10,000 new random examples instead of the same 60",
    "tests/test_hashes.py": "every text of the tests and examples with 100 seeds for the hashes of strings instead of 3",
    "tests/growth.py": "growth: every shape at its full size",
    "tests/recover/test_growth.py": "growth: every token behind every start and under every contract, every mark of calls, 2,000 random runs of tokens",
    "tests/threats/test_large.py": "growth: ten megabytes of every kind of text under every kind of contract",
    "tests/ask/matrix/test_matrix.py": "asking: every misbehaviour of a server against every client, whole and as a stream, instead of 200 cells",
    "tests/ask/loop/test_plan.py": "asking: every path of policies with one attempt more",
    "tests/gateway/test_openapi.py": "gateway: 300 requests for each operation of its description instead of 6",
    "tests/studio/conftest.py": "studio: every page on a processor four times slower, with an API that answers late",
    "tests/studio/test_marks.py": "studio: the marks of 3,000 new random replies instead of the same 120",
    "tests/studio/test_openapi.py": "studio: 300 requests for each operation of its API instead of 3, and more odd values of each field",
    "tests/gateway/test_fuzz_upstream.py": "gateway: 100,000 damaged replies of upstreams instead of 400",
    "tests/gateway/client/test_fuzz.py": "gateway: 200,000 damaged answers in its HTTP client instead of 3,000",
    "tests/gateway/test_fuzz_requests.py": "gateway: 120,000 damaged requests instead of 2,700, and memory that stays flat",
    "tests/store/test_crashes.py": "store: 1,000 crews of eight processes killed at any instant, on each database, instead of 4",
    "tests/store/test_rejudging.py": "store: 100 random histories of verdicts, feedback and deletions on each database, instead of 4",
    "tests/store/test_states.py": "store: 500 random histories of quota on each database, each of up to 60 steps",
    "tests/tuning/test_planted.py": "tuning: 200 contracts with planted faults and 200 without instead of 18 and 8",
    "tests/inferring/test_generated.py": "drafts: 200 random schemas with 100 replies each, half of them broken, instead of 20",
    "tests/inferring/test_independent.py": "drafts: 200 random shapes of another kind with 100 replies each, half of them broken, instead of 16",
    "tests/backtesting/test_faithful.py": "backtests: 30 random recordings of a gateway for each contract on each database, instead of 1",
    "tests/backtesting/test_flips.py": "backtests: 40 random stores on each database, instead of 2, in which no reply is lost",
    "tests/batch/test_crash.py": "sift: 2,000 kills at random instants, one before every step that lasts, and 1,000 seeds of kills and full disks while files grow and ids repeat",
    "tests/batch/merging/test_merge.py": "sift: 300 random files for each way to merge lines that share an id, against each line by itself",
    "tests/batch/siftdir/test_growing.py": "sift: 150 random files for each way to merge, grown in three steps, against a sift of the whole",
    "tests/batch/tables/test_reading.py": "sift: 50 kills while each kind of table is read, instead of 2",
    "tests/batch/engines/test_ray.py": "Ray: a cluster of three nodes instead of two",
    "tests/batch/engines/test_ray_data.py": "Ray Data: every format of batches, two actors each",
    "tests/batch/pipeline/test_crashes.py": "pipelines: 4,000 seeds of faults and power cuts, 900 kills of real processes",
    "tests/batch/pipeline/revalidating/test_adopting.py": "pipelines: 1,000 histories of kills, power cuts, full disks, retries and new contracts; a crash at every operation while a contract is taken over",
    "tests/batch/pipeline/test_runs.py": "pipelines: every shipped pipeline on the bundled model",
}
