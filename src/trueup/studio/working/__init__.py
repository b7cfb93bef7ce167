"""Long jobs of the studio: backtests and tuning, in separate processes that end when the client leaves."""
