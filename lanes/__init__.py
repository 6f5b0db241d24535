"""Lanes: who can run a job, each a value made of data and pure functions.

Nothing in here opens files or sockets, starts processes, reads the clock or the environment: what
a lane needs is handed in. The contract is in ``contract.py``; lanes never import each other.
"""
