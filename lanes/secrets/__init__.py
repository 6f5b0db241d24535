"""What must not leave: the rules for secret values, for credential files, and for our own wording."""
