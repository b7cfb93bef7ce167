"""The kinds of steps: asking a model, evaluating expressions, fanning out lists, running a script."""
