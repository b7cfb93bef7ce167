"""What a run will take and cost, before and while it runs."""
