"""How the commands show results: a verdict, a sift, a run, a backtest."""
