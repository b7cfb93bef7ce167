"""Replies after they arrived: unwrapped, judged for their faults, added to the conversation."""
