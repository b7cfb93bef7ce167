"""Replies after they came: unwrapped, judged for their faults, kept in the conversation."""
