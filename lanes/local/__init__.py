"""The local lane: text answers from any OpenAI-compatible server on this machine.

Ollama, LM Studio, llama.cpp's server and the like. Nothing leaves the machine unless
``OSRC_LOCAL_ALLOW_REMOTE=1`` says that it may.
"""

from .lane import LANE

__all__ = ["LANE"]
