"""What counts can say: intervals, tests and rates of agreement, computed without a dependency."""
