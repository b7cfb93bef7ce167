"""Long work of the studio: backtests and tuning, in processes of their own that end with whoever asked."""
