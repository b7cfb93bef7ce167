"""Small pure checks: each takes a reply or a value and a part of the contract, and returns findings."""
