"""Estimates the calls, time and cost of a run, before it starts and while it runs."""
