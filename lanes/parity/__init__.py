"""Giving other AI tools what Claude Code has: its skills and its local MCP servers, by each tool's convention. Pure."""
