"""Where a job goes whose lane failed it, and where it never goes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.advice.failover import STARTS, Case, FailoverPolicy, Hop, Stop, next_hop, shortlist
from outsourcerer.lanes.advice.handoff import handed_over
from outsourcerer.lanes.advice.options import ORDER, Option, offers
from outsourcerer.lanes.catalog.aliases import Alias
from outsourcerer.lanes.catalog.asking import Known
from outsourcerer.lanes.registry import Registry, builtin
from outsourcerer.messages.lane_events import FailureKind
from outsourcerer.messages.model_names import canonical
from outsourcerer.messages.vocabulary import Tier, Verb
from outsourcerer.state.limits import key_of

LANES = Registry().tiers()


def options(model=None, tier=Tier.FRONTIER, known=None, **hindered):
    found = []
    for offer in offers(LANES, model, tier, known or Known()):
        billing = builtin(offer.lane).billing
        option = Option(
            lane=offer.lane,
            model=offer.model,
            tier=offer.tier,
            same=offer.same,
            kind=billing.kind,
            key=key_of(offer.lane, billing.pool),
        )
        why = hindered.get(offer.lane)
        found.append(
            option if why is None else option.hindered(*why) if isinstance(why, tuple) else option.hindered(why)
        )
    return found


def case(lane="claude", model=None, failure=FailureKind.PLAN_LIMIT, **changes):
    given = {"verb": Verb.RUN, "tier": Tier.FRONTIER, "key": key_of(lane, builtin(lane).billing.pool)}
    given |= {"tried": frozenset({(lane, canonical(model))})}
    return Case(lane=lane, model=model, failure=failure, **{**given, **changes})


def test_a_spent_plan_moves_to_the_nearest_tier_on_another_plan():
    hop = next_hop(case(), options())
    assert (hop.lane, hop.tier) == ("codex", Tier.FRONTIER)
    assert hop.why.startswith("claude: its limit is used up")


def test_a_mutating_job_moves_after_a_plan_limit_and_never_after_a_lost_connection():
    assert next_hop(case(verb=Verb.EDIT), options()).lane == "codex"
    stopped = next_hop(case(verb=Verb.EDIT, failure=FailureKind.TRANSPORT), options())
    assert "edit may have changed something" in stopped.why


@pytest.mark.parametrize(
    "failure",
    sorted(
        set(FailureKind)
        - {FailureKind.TRANSPORT, FailureKind.RATE_LIMIT, FailureKind.PLAN_LIMIT, FailureKind.CONTENDED}
    ),
)
def test_any_other_failure_goes_nowhere_and_nothing_is_said_of_it(failure):
    assert next_hop(case(failure=failure), options()) == Stop(why=None)


@pytest.mark.parametrize("verb", list(Verb))
@pytest.mark.parametrize("failure", list(FailureKind))
def test_what_may_move_at_all(failure, verb):
    """A lost road only where nothing can be done twice, a spent plan whatever the verb, and nothing else."""
    moved = next_hop(case(verb=verb, failure=failure), options())
    lost = failure in (FailureKind.TRANSPORT, FailureKind.RATE_LIMIT)
    expected = failure is FailureKind.PLAN_LIMIT or (lost and verb in (Verb.RUN, Verb.EXPLORE))
    anew = failure is FailureKind.CONTENDED
    assert isinstance(moved, Hop) == (expected or anew)
    assert not isinstance(moved, Hop) or (moved.lane == "claude") == anew


@pytest.mark.parametrize("verb", list(Verb))
def test_a_start_that_others_were_in_the_way_of_is_made_again_whatever_is_allowed_elsewhere(verb):
    none = FailoverPolicy(fallback=False, failover_max=0, cross_lane=False)
    told = {"verb": verb, "failure": FailureKind.CONTENDED, "pinned": True, "bound": "it goes on", "policy": none}
    for made in range(1, STARTS):
        hop = next_hop(case("opencode", "a/b", starts=made, **told), options())
        assert (hop.lane, hop.model, hop.tier) == ("opencode", "a/b", Tier.FRONTIER)
    assert next_hop(case("opencode", "a/b", starts=STARTS, **told), options()) == Stop(
        why=f"not started again: others were in its way at {STARTS} starts"
    )


@pytest.mark.parametrize(
    ("lane", "model", "to", "as_"),
    [
        ("cc", "z-ai/glm-5.2", "devin", "glm-5.2"),
        ("devin", "kimi-k3", "droid", "kimi-k3"),
        ("devin", "glm-5.2", "cc", "z-ai/glm-5.2"),
        ("cc", "deepseek/deepseek-v4-pro", "devin", "deepseek-v4-pro"),
    ],
)
def test_a_model_that_two_lanes_serve_heals_onto_its_sibling(lane, model, to, as_):
    policy = FailoverPolicy(cash_ok=True)
    told = case(lane, model, FailureKind.TRANSPORT, pinned=True, tier=Tier.CAPABLE, policy=policy)
    hop = next_hop(told, options(model, Tier.CAPABLE))
    assert (hop.lane, hop.model) == (to, as_)
    assert f"the same model on {to}" in hop.why


def test_a_named_model_is_never_replaced():
    stopped = next_hop(case("claude", "opus", pinned=True), options("opus"))
    assert isinstance(stopped, Stop)
    assert "opus was named (-m) and is not replaced" in stopped.why
    moved = next_hop(
        case("claude", "opus", FailureKind.TRANSPORT, pinned=True, policy=FailoverPolicy(fallback_pinned=True)),
        options("opus"),
    )
    assert moved.lane == "codex"


def test_cash_is_never_spent_unasked_and_it_is_said_what_would_allow_it():
    busy = dict.fromkeys(set(ORDER) - {"cc", "droid"}, "not installed")
    stopped = next_hop(case(), options(**busy))
    assert "OSRC_FAILOVER_CASH_OK=1 would allow cc, droid, which may cost" in stopped.why
    assert next_hop(case(policy=FailoverPolicy(cash_ok=True)), options(**busy)).lane in ("cc", "droid")


def test_a_purse_that_is_open_already_may_be_used():
    told = case("cc", "z-ai/glm-5.2", FailureKind.TRANSPORT, tier=Tier.CAPABLE)
    busy = dict.fromkeys(set(ORDER) - {"codexor"}, "not installed")
    assert next_hop(told, options("z-ai/glm-5.2", Tier.CAPABLE, **busy)).lane == "codexor"


def test_a_lane_on_the_same_limit_is_no_way_out():
    busy = dict.fromkeys(set(ORDER) - {"claudex"}, "not installed")
    stopped = next_hop(case("codex", "gpt-5.6-sol", pinned=True), options("gpt-5.6-sol", **busy))
    assert "claudex: it spends the same limit" in stopped.why


def test_the_soonest_end_is_told_when_nothing_is_left():
    busy = {**dict.fromkeys(ORDER, "not installed"), "codex": ("down until 14:00", 500.0), "gemini": ("down", 300.0)}
    stopped = next_hop(case(), options(**busy))
    assert stopped.until == 300.0
    assert "codex: down until 14:00" in stopped.why


def test_what_is_local_stays_local():
    assert isinstance(next_hop(case(local=True), options()), Stop)


def test_a_job_bound_to_its_conversation_stays():
    assert "continues" in next_hop(case(bound="it continues a conversation"), options()).why


def test_the_offload_chain_is_walked_on_its_own_lane_then_left():
    told = case("cc", "a/one", FailureKind.TRANSPORT, tier=Tier.CAPABLE, chain=("a/one", "b/two"))
    hop = next_hop(told, options())
    assert (hop.lane, hop.model) == ("cc", "b/two")
    over = case(
        "cc", "b/two", FailureKind.TRANSPORT, tier=Tier.CAPABLE, tried=frozenset({("cc", "one"), ("cc", "two")})
    )
    assert next_hop(over, options()).lane != "cc"
    assert isinstance(
        next_hop(case("cc", "a/one", FailureKind.TRANSPORT, verb=Verb.EDIT, chain=("b/two",)), options()), Stop
    )


@pytest.mark.parametrize(
    ("changes", "switch"),
    [
        ({"policy": FailoverPolicy(fallback=False)}, "OSRC_FALLBACK=0"),
        ({"transport_moves": 2}, "OSRC_FALLBACK_MAX"),
        ({"policy": FailoverPolicy(cross_lane=False)}, "OSRC_NO_CROSS_LANE"),
        ({"failure": FailureKind.PLAN_LIMIT, "limit_moves": 2}, "OSRC_FAILOVER_MAX"),
    ],
)
def test_every_bound_is_named(changes, switch):
    assert switch in next_hop(case(**{"failure": FailureKind.TRANSPORT, **changes}), options()).why


def test_models_of_the_person_s_own_are_offered_too():
    known = Known(own={"fast": Alias("z-ai/glm-9", "devin", Tier.FRONTIER)})
    mine = [offer for offer in offers(LANES, "glm-9", Tier.FRONTIER, known) if offer.lane == "devin"]
    assert [(offer.model, offer.same) for offer in mine] == [("z-ai/glm-9", True), ("z-ai/glm-9", False)]


@given(
    st.sampled_from(ORDER),
    st.sampled_from(["glm-5.2", "opus", "gpt-5.6-sol", None]),
    st.sampled_from(list(Tier)),
    st.sampled_from(list(Verb)),
    st.sampled_from([FailureKind.TRANSPORT, FailureKind.PLAN_LIMIT]),
    st.booleans(),
    st.booleans(),
    st.sets(st.sampled_from(ORDER)),
)
def test_a_walk_never_meets_a_lane_twice_and_always_ends(lane, model, tier, verb, failure, pinned, cash, absent):
    policy = FailoverPolicy(cash_ok=cash, fallback_max=20, failover_max=20)
    given = options(model, tier, **dict.fromkeys(absent, "not installed"))
    tried, here, moves = {(lane, canonical(model))}, lane, 0
    while moves < 30:
        told = Case(
            verb=verb,
            lane=here,
            model=model,
            tier=tier,
            key=key_of(here, builtin(here).billing.pool),
            failure=failure,
            pinned=pinned,
            tried=frozenset(tried),
            transport_moves=moves if failure is FailureKind.TRANSPORT else 0,
            limit_moves=moves if failure is FailureKind.PLAN_LIMIT else 0,
            policy=policy,
        )
        hop = next_hop(told, given)
        if isinstance(hop, Stop):
            assert hop.why
            break
        assert isinstance(hop, Hop)
        assert hop.lane not in {one for one, _ in tried}
        assert hop.lane not in absent
        assert not pinned or canonical(hop.model) == canonical(model)
        assert [option.lane for option in shortlist(told, given)].count(hop.lane) == 1
        tried.add((hop.lane, canonical(hop.model)))
        here, moves = hop.lane, moves + 1
    assert moves < 30


def test_the_hand_over_says_what_to_look_at_and_holds_the_task_whole():
    text = handed_over("fix the build", "claude", "its limit is used up")
    assert text.startswith("[handoff]")
    assert text.endswith("fix the build")
    assert "git diff" in text


def test_the_note_of_a_hand_over_is_in_neutral_words_and_the_task_is_left_alone():
    """It is our own text; a session that takes it for a dangerous one is moved to another model."""
    said = handed_over("kill the zombie", "claude", "its process was killed")
    assert "its process was stopped" in said
    assert said.endswith("\n\nkill the zombie")
    assert "its process was killed" in handed_over("x", "claude", "its process was killed", guard=False)
