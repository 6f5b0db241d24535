"""Whether a job that was taken earlier, and waited, still has room on the machine when its turn comes.

It goes on waiting where it has none, and everybody behind it: memory that is gone does not come back by starting more.
"""

from __future__ import annotations

from ..state.errors import StateError
from ..state.job_folder import JobFolder
from ..state.settings import Settings
from .admission import FRESH_S
from .base import log
from .caller import settings_of
from .host import decode_environment
from .kept_request import kept_request
from .services import Services


class DequeueCheck:
    """Looks for whose turn it is. By the floors of the job's own caller, as they are now."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._read: tuple[str, float, Settings] | None = None
        """An environment, when its settings were read, and these: jobs of one caller come in rows."""

    def none_for(self, job_id: str) -> bool:
        """Whether this job can't be started now; says why where people look."""
        services = self._services
        low = services.admission.room(self._settings(job_id))
        if low is None:
            return False
        if services.live_figures.get(job_id) is None:
            log.warning("%s waits: %s", job_id, low.message)
        services.live_figures.put(job_id, {"note": f"waits for room: {low.message}"})
        return True

    def _settings(self, job_id: str) -> Settings:
        """Return the settings that the job was taken by; the supervisor's own where they are not known."""
        services = self._services
        environment = services.requests.get(job_id)
        if environment is None:  # an earlier supervisor took it
            kept = kept_request(JobFolder(services.home.job_dir(job_id)), None)
            environment = None if kept is None else kept.environment
        if environment is None:
            return services.settings
        now, read = services.clock.now().mono, self._read
        if read is not None and read[0] == environment and 0 <= now - read[1] < FRESH_S:
            return read[2]
        try:
            found = settings_of(decode_environment(environment))
        except (ValueError, StateError):
            return services.settings
        self._read = (environment, now, found)
        return found
