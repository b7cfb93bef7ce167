"""Replies under a contract: ask upstreams by the plan, judge, stream, settle, and write the client's reply."""
