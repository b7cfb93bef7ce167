"""The drivers that carry out the plan: calls, waits and clocks, synchronous and asynchronous."""
