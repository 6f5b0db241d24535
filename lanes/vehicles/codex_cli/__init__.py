"""Codex CLI, headless: its command line and its stream. Facts seen on 0.171.0 (2026-11-30)."""
