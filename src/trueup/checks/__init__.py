"""Small pure checks: a reply or a value and what the contract asks of it in, findings out."""
