"""What other tools write down of their sessions, read back into one set of facts. Pure: bytes in, facts out."""
