"""pi's own session protocol, loaded by a holder without the lane's value."""
