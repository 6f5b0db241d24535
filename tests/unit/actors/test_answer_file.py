"""The final message is written late rather than never."""

from outsourcerer.actors.answer_file import LONGEST_RETRY_S, AnswerFile
from outsourcerer.actors.job_figures import size_words
from outsourcerer.state.errors import StateError


class Folder:
    def __init__(self, path, *, full):
        self.path = path
        self.full = full
        self.written = {}

    def write(self, name, data):
        if self.full:
            self.full -= 1
            raise StateError("state_full", "no space left", "make room")
        self.written[name] = data


def test_a_full_disk_is_tried_again_until_there_is_room(tmp_path):
    folder = Folder(tmp_path, full=9)
    answer = AnswerFile(folder)
    assert "no space" in answer.write(b"all of it")
    pauses = []
    while (due_s := answer.retry_in_s()) is not None:
        pauses.append(due_s)
    assert folder.written == {"last.txt": b"all of it"}
    assert pauses == sorted(pauses)
    assert (len(pauses), pauses[-1]) == (8, LONGEST_RETRY_S)


def test_no_answer_is_nothing_to_write_and_a_folder_that_is_gone_is_not_waited_for(tmp_path):
    for nothing in (None, b""):
        folder = Folder(tmp_path, full=1)
        answer = AnswerFile(folder)
        assert answer.write(nothing) is None
        assert answer.retry_in_s() is None
        assert folder.written == {}
    answer = AnswerFile(Folder(tmp_path / "gone", full=1))
    assert answer.write(b"said") is not None
    assert answer.retry_in_s() is None


def test_sizes_are_said_for_people():
    assert (size_words(99_999), size_words(100_000)) == ("99999 bytes", "0.1 MB")
