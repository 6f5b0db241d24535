"""What is kept: the state home, the store, job folders, settings, and the pure rules over records.

Knows no vendor, no actor library and no command line. ``errors``, ``files``, ``home``, ``identity``, ``ids``,
``processes``, ``reader`` and ``views`` import the standard library alone, because the front end uses
them before anything is drawn.
"""
