"""Delegate programs of our own: each runs as a child under supervision, like any vendor's CLI.

They read the prompt from stdin and print OSRC JSON lines (``lanes/osrc_jsonl.py`` parses them).
"""
