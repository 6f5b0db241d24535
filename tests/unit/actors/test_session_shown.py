"""What the journal keeps of what a session is sent."""

from outsourcerer.actors.session_desk import SHOWN_CHARS, shown_text

TOKEN = "ghp_" + "a1B2" * 9


def test_a_secret_is_masked_also_where_the_text_is_cut() -> None:
    assert "a1B2" not in shown_text(f"push with {TOKEN} now")
    for inside in range(1, len(TOKEN)):
        shown = shown_text("x " * ((SHOWN_CHARS - inside) // 2) + TOKEN + " and more" * 2000)
        assert "a1B2" not in shown
        assert len(shown) <= SHOWN_CHARS
    assert shown_text("plain") == "plain"
