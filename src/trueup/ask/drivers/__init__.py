"""What carries out the plan: calls, waits and clocks, synchronous and asynchronous."""
