"""What is measured and how: the replies, rules and states that `trueup bench` and the benchmark of the project both time."""
