"""Measurement: the replies, rules and states that both `trueup bench` and the project's benchmark time."""
