"""Answering a dialog and switching a model: the highlight is seen before it is taken, the close is verified."""

import pytest
from outsourcerer.lanes.screens.answering import Answering, AnswerPolicy, choose, press
from outsourcerer.lanes.screens.delivery import Look, Policy
from outsourcerer.lanes.screens.model import Composer, Menu, Option, ScreenState, State
from outsourcerer.lanes.screens.picking import Picking, operate, option_for

POLICY = AnswerPolicy(settle_s=0.1, step_s=1.0, close_s=3.0)
LABELS = ("Yes", "Yes, and always allow this", "No")
IDLE = ScreenState(state=State.IDLE, evidence="", composer=Composer.EMPTY)


def menu(selected=1, labels=LABELS, question="May I?", **terms):
    options = tuple(Option(index=n, label=label, selected=n == selected) for n, label in enumerate(labels, 1))
    return Menu(question=question, options=options, **terms)


def look(now, shown, **terms):
    state = shown if isinstance(shown, ScreenState) else ScreenState(state=State.MENU, evidence="", menu=shown)
    return Look(**{"now": now, "state": state, "quiet_s": 1.0, "drained": True, **terms})


@pytest.mark.parametrize(
    ("choice", "index"),
    [
        ("1", 1),
        ("3", 3),
        ("yes", 1),
        ("YES", 1),
        ("always", 2),
        ("no", 3),
        ("Yes, and always allow this", 2),
        ("always allow", 2),
    ],
)
def test_a_choice_names_one_option(choice, index):
    assert choose(menu(), choice).index == index


@pytest.mark.parametrize("choice", ["4", "maybe", "yes, a", "e"])
def test_a_choice_that_names_none_or_several_is_a_sentence(choice):
    found = choose(menu(labels=("Yes, a", "Yes, a lot", "No")) if choice == "e" else menu(), choice)
    assert isinstance(found, str) is (choice != "yes, a")


def test_no_is_never_taken_for_something_that_begins_like_it():
    assert isinstance(choose(menu(labels=("Nothing", "Notify me")), "no"), str)


def pressed(answer, *looks):
    keys = []
    for one in looks:
        answer, key = press(answer, one, POLICY)
        if key:
            keys.append(key)
    return answer, keys


def test_the_highlight_is_moved_seen_and_only_then_taken():
    answer = Answering(menu=menu(), option=choose(menu(), "3"))
    answer, keys = pressed(
        answer, look(0, menu(1)), look(0.1, menu(1)), look(0.2, menu(2)), look(0.3, menu(3)), look(0.5, IDLE)
    )
    assert keys == ["down", "down", "enter"]
    assert (answer.ended, answer.closed) == (True, True)


def test_a_highlight_that_may_move_once_more_is_not_taken_yet():
    """A slow interface had drawn nothing of the first key when it was pressed again: both are still to be seen."""
    late = [look(0, menu(1)), look(1.1, menu(1))]
    answer, keys = pressed(Answering(menu=menu(), option=menu().options[1]), *late, look(1.2, menu(2)))
    assert keys == ["down", "down"]
    answer, key = press(answer, look(1.5, menu(3)), POLICY)
    assert key is None
    answer, keys = pressed(answer, look(2.2, menu(3)), look(3.3, menu(2)))
    assert keys == ["up", "enter"]


def test_a_menu_across_is_moved_in_sideways():
    answer = Answering(menu=menu(3, across=True), option=choose(menu(3), "1"))
    assert pressed(answer, look(0, menu(3, across=True)))[1] == ["left"]


def test_another_dialog_gets_no_key():
    answer, keys = pressed(
        Answering(menu=menu(), option=menu().options[0]), look(0, menu(question="May I delete it all?"))
    )
    assert keys == []
    assert (answer.ended, answer.closed) == (True, False)
    assert "another dialog" in answer.evidence


def test_a_dialog_without_a_visible_highlight_gets_no_enter():
    answer, keys = pressed(Answering(menu=menu(0), option=menu().options[0]), look(0, menu(0)), look(2, menu(0)))
    assert keys == []
    assert answer.ended


def test_a_dialog_that_stays_is_not_called_closed():
    answer, keys = pressed(Answering(menu=menu(), option=menu().options[0]), *(look(n, menu()) for n in range(6)))
    assert keys == ["enter"]
    assert (answer.ended, answer.closed) == (True, False)


def test_a_highlight_that_does_not_move_has_a_bound():
    answer = Answering(menu=menu(), option=menu().options[2])
    answer, keys = pressed(answer, *(look(n, menu()) for n in range(200)))
    assert answer.ended
    assert not answer.closed
    assert set(keys) == {"down"}


def test_a_dialog_beside_which_something_always_moves_is_answered_once_it_has_stood():
    lettered = Menu(question="May I?", options=(Option(index=1, label="Approve", key="y"),))
    answer = Answering(menu=lettered, option=lettered.options[0])
    keys = []
    for tenth in range(12):
        answer, key = press(answer, look(tenth / 10, lettered, quiet_s=0.05), AnswerPolicy())
        keys.append(key)
    assert [key for key in keys if key] == ["y"]
    assert keys.index("y") == 10


def test_letters_are_pressed_as_they_are():
    lettered = Menu(
        question="Approve?", options=(Option(index=1, label="Approve", key="y"), Option(index=2, label="Deny", key="n"))
    )
    answer = Answering(menu=lettered, option=choose(lettered, "no"))
    assert pressed(answer, look(0, lettered))[1] == ["n"]


# --- switching

MODELS = ("Default (recommended) Use the default", "Opus     Opus 5.5 · Best", "Fable    Fable 5.2", "Opus 4   older")


@pytest.mark.parametrize(
    ("wanted", "index"), [("fable", 3), ("Fable", 3), ("opus", None), ("opus 4", 4), ("haiku", None)]
)
def test_a_model_s_name_means_one_row(wanted, index):
    found = option_for(menu(labels=MODELS), wanted)
    assert (found.index if isinstance(found, Option) else None) == index


def switched(pick, *looks):
    done = []
    for one in looks:
        pick, text, key = operate(pick, one, Policy(settle_s=0.1, command_s=2), POLICY)
        done += [item for item in (text, key) if item]
    return pick, done


def drafted(text):
    return ScreenState(state=State.IDLE, evidence="", composer=Composer.DRAFT, draft=text)


def test_a_switch_from_command_to_confirmation():
    pick = Picking(command="/model", choice="fable", confirm="s", further=True)
    further = menu(2, labels=("Yes, switch", "No, go back"), question="Really?")
    models = [
        look(0.3, menu(1, MODELS)),
        look(0.4, menu(1, MODELS)),
        look(0.5, menu(2, MODELS)),
        look(0.6, menu(3, MODELS)),
    ]
    asked = [
        look(0.8, further),
        look(0.9, further),
        look(1.0, further),
        look(1.1, menu(1, ("Yes, switch", "No, go back"), "Really?")),
    ]
    pick, done = switched(
        pick, look(0, IDLE), look(0.1, drafted("/model")), *models, *asked, look(1.3, IDLE), look(1.4, IDLE)
    )
    assert done == ["/model", "enter", "down", "down", "s", "up", "enter"]
    assert (pick.ended, pick.done, pick.label) == (True, True, "Fable    Fable 5.2")


def test_a_switch_is_declined_while_it_works_and_types_nothing():
    pick, done = switched(
        Picking(command="/model", choice="fable"), look(0, ScreenState(state=State.WORKING, evidence=""))
    )
    assert (done, pick.ended, pick.done) == ([], True, False)


def test_a_menu_without_the_model_is_left_again():
    pick, done = switched(
        Picking(command="/model", choice="haiku"),
        look(0, IDLE),
        look(0.1, drafted("/model")),
        look(0.3, menu(1, MODELS)),
    )
    assert done == ["/model", "enter", "escape"]
    assert "no row for haiku" in pick.evidence


def test_a_command_that_did_not_show_is_cleared_not_entered():
    pick, done = switched(
        Picking(command="/model", choice="x"), look(0, IDLE), look(0.1, drafted("/mo")), look(3, drafted("/mo"))
    )
    assert done == ["/model", "clear"]
    assert not pick.done
