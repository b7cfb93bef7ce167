"""The safe expression language of rules, conditions and messages."""
