"""From a command line's words to a Run: inputs, profile and options, for every command that runs a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from precdiff.device import DeviceProfile
    from precdiff.kernels import Kernel, Run


@dataclass(frozen=True)
class Request:
    """The options of kernel_options (options.py), as they were given."""

    format: str | None = None
    profile: str = "ieee"
    profile_fields: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    max_iterations: int | None = None

    def words(self) -> list[str]:
        """The options as they would be typed again."""
        single = {"--format": self.format, "--profile": self.profile if self.profile != "ieee" else None}
        limit = self.max_iterations
        many = {"--profile-set": self.profile_fields, "--set": self.settings, "--input": self.inputs}
        words = [word for name, value in single.items() if value for word in (name, value)]
        words += [w for name, pairs in many.items() for k, v in pairs.items() for w in (name, f"{k}={v}")]
        words += ["--max-iterations", str(limit)] if limit else []
        return [*words, *(["--seed", str(self.seed)] if self.seed else [])]

    def run(self, kernel: str, dump: str | None = None) -> Run:
        """Run the kernel."""
        from precdiff import api
        from precdiff.kernels import get_kernel

        chosen = get_kernel(kernel)
        options = {name: chosen.option(name, text) for name, text in self.settings.items()}
        return api.run(
            chosen, profile=changed_profile(self.profile, self.profile_fields), format=self.format,
            inputs=self._arrays(chosen), options=options, seed=self.seed, dump=dump,
            **({"max_iterations": self.max_iterations} if self.max_iterations else {}),
        )  # fmt: skip

    def _arrays(self, kernel: Kernel) -> dict[str, Any]:
        from precdiff.generate import input_array, input_format

        formats = {name: input_format(kernel.formats.get(name), self.format) for name in self.inputs}
        return {n: input_array(n, text, seed=self.seed, format=formats[n]) for n, text in self.inputs.items()}


def with_examples(request: Request, kernel: str) -> Request:
    """The request with the kernel's own example inputs where it names none."""
    from precdiff.kernels import get_kernel

    return request if request.inputs else replace(request, inputs=get_kernel(kernel).examples)


def changed_profile(name: str, fields: Mapping[str, str]) -> DeviceProfile:
    """The profile with the fields of --profile-set."""
    from precdiff.device import get_profile

    profile = get_profile(name)
    for name_of_field, text in fields.items():
        profile = profile.with_text(name_of_field, text)
    return profile
