"""Subscribers to events: logs, metrics and traces, one file each; none of them sends anything to the network itself."""
