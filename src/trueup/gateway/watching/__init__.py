"""Observability for operators: counters of all workers, access and verdict logs, traces."""
