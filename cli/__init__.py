"""The command line: parses words, sends one message, prints what comes back. It decides nothing.

``main`` is imported by its full name; nothing is re-exported here, because each import is start-up time.
"""
