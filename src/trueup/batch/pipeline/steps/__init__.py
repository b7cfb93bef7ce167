"""The kinds of steps: a model asked, expressions worked out, lists fanned out, a script run."""
