"""Numbered SQL files, applied in order, each once and whole. A released file is never changed."""
