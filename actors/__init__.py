"""The supervision tree and its actors: everything that touches processes, ptys, sockets and HTTP."""
