"""``osrc mcp``: what the commands do, as tools for any host that speaks the Model Context Protocol.

Needs the extra ``mcp`` (the protocol's own SDK). Nothing else of the front end imports this package.
"""
