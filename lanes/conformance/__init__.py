"""What every lane must hold to, as functions that any test suite can run. For tests: nothing imports this at work.

    from outsourcerer.lanes.conformance import CHECKS, Recorded, Subject

    SUBJECT = Subject(lane=MY_LANE, host=HOST, streams=(Recorded("answer", out=bytes_it_printed),))

    @pytest.mark.parametrize("check", CHECKS)
    def test_my_lane(check):
        CHECKS[check](SUBJECT)

Each check returns nothing, or raises :class:`ContractError` (an AssertionError) that says what of the contract
(``lanes/contract.py``) the lane breaks. None of them knows a vendor, starts a program or needs pytest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .planning import (
    describes_itself,
    honours_exactly_its_verbs,
    keeps_secrets_out_of_sight,
    never_interprets_a_prompt,
    plans_a_clean_command,
    refuses_what_no_program_reads,
    says_beforehand_who_pays,
    takes_up_the_conversation_it_is_told,
)
from .reading import (
    claims_no_success_it_has_not_seen,
    counts_usage_upwards,
    ends_each_turn_once,
    knows_its_own_streams,
    reads_any_cut_alike,
    reads_in_linear_time,
    survives_any_bytes,
)
from .subject import ContractError, Recorded, Subject
from .world import classifies_doubt_as_the_task, probes_without_surprise, touches_nothing_outside

CHECKS: Mapping[str, Callable[[Subject], None]] = {
    check.__name__: check
    for check in (
        describes_itself,
        honours_exactly_its_verbs,
        plans_a_clean_command,
        says_beforehand_who_pays,
        never_interprets_a_prompt,
        refuses_what_no_program_reads,
        takes_up_the_conversation_it_is_told,
        keeps_secrets_out_of_sight,
        reads_any_cut_alike,
        survives_any_bytes,
        ends_each_turn_once,
        claims_no_success_it_has_not_seen,
        counts_usage_upwards,
        knows_its_own_streams,
        reads_in_linear_time,
        classifies_doubt_as_the_task,
        probes_without_surprise,
        touches_nothing_outside,
    )
}
"""Name → check. A later version may have more of them."""

__all__ = ["CHECKS", "ContractError", "Recorded", "Subject"]
