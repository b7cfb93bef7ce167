"""Adapters: a contract as a part of another framework, one module for each library and named after it.

Nothing here is loaded by `import trueup`. Importing an adapter imports its library.
"""
