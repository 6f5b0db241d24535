"""Claude Code, headless: its command line and its stream. Facts seen on 2.1.332 (2026-11-30)."""
