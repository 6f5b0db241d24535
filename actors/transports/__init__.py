"""How a session's holder talks with its delegate: one engine per kind of connection. Standard library only."""
