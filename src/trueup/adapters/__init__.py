"""Adapters: use a contract in another framework. There is one module for each library, named after it.

Nothing here is loaded by `import trueup`. Importing an adapter imports its library.
"""
