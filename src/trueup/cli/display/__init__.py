"""What the commands show of results: a verdict, a sift, a run, a backtest."""
