"""What operators see: counters of all workers, access and verdict logs, traces."""
