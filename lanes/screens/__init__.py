"""Terminal screens: what a CLI's own interface shows, as data and pure functions.

``classify`` says what state a screen is in; ``delivery`` and ``answering`` decide which keys to press next.
None of it reads a terminal: a ``Screen`` is handed in, and keys are returned as data.
"""
