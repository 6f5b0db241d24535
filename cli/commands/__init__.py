"""One file per command family, each loaded only when one of its commands is run."""
