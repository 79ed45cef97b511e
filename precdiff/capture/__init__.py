"""Record other programs: a Recorder for anything that has arrays, hooks for torch models (extra `torch`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from precdiff.capture.recorder import Recorder

if TYPE_CHECKING:
    from precdiff.capture.modules import torch

__all__ = ["Recorder", "torch"]


def __getattr__(name: str) -> object:
    if name == "torch":
        from precdiff.capture.modules import torch

        return torch
    raise AttributeError(f"module 'precdiff.capture' has no attribute {name!r}; public names: {', '.join(__all__)}")
