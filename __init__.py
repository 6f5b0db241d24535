"""Outsourcerer: a supervisor that makes the AI coding tools on a machine work as one team.

This module stays empty of imports: the front end's start-up time is the product's felt speed.
"""

__version__ = "0.1.0"
