"""Parts of the gateway's file, one module each: convert an entry to a value of the configuration, with a fault for each
mistake.
"""
