"""Whether a job that was taken earlier, and waited, still has room on the machine when its turn comes.

It goes on waiting where it has none, and everybody behind it: memory that is gone does not come back by starting more.
"""

from __future__ import annotations

from ..state.errors import StateError
from ..state.job_folder import JobFolder
from ..state.settings import Settings
from .base import log
from .host import decode_environment
from .intake import settings_of
from .kept_request import kept_request
from .services import Services


def has_no_room(services: Services, job_id: str) -> bool:
    """Whether this job can't be started now; says why where people look. By its own caller's floors."""
    low = services.admission.room(_settings(services, job_id))
    if low is None:
        return False
    if services.board.get(job_id) is None:
        log.warning("%s waits: %s", job_id, low.message)
    services.board.put(job_id, {"note": f"waits for room: {low.message}"})
    return True


def _settings(services: Services, job_id: str) -> Settings:
    """Return the settings that the job was taken by; the supervisor's own where they are not known."""
    kept = kept_request(JobFolder(services.home.job_dir(job_id)), services.requests.get(job_id))
    try:
        return services.settings if kept is None else settings_of(decode_environment(kept.environment))
    except (ValueError, StateError):
        return services.settings
