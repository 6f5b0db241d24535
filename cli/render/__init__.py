"""How things look: pure functions from job objects to lines, and the live progress line."""
