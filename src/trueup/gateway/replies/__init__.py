"""Replies under a contract: asking upstreams by the plan, judging, streaming, settling and writing what the client gets."""
