"""A supervisor under test: children that write a diary, and a clock that only tests move."""

from fakes.actors import Barrier, mailbox
from fakes.clock import FakeClock
from outsourcerer.actors.base import Actor, Directory, ask, start
from outsourcerer.actors.supervisor import ChildSpec, Strategy, Supervisor
from outsourcerer.state.restart_budget import RestartBudget


class Child(Actor):
    def __init__(self, *, diary: list, **common) -> None:
        super().__init__(**common)
        self.diary = diary
        self.deaf = False

    def started(self) -> None:
        self.diary.append(("start", self.name, self.incarnation))

    def receive(self, message: object) -> None:
        match message:
            case BaseException():
                raise message
            case Barrier():
                message()
            case "finish":
                self.finished()
            case "be deaf":
                self.deaf = True
            case "echo":
                self.reply(self.incarnation)
            case _:
                self.diary.append(("heard", self.name, message))

    def stopping(self, reason: str) -> None:
        self.diary.append(("stop", self.name, reason))
        if not self.deaf:
            self.finished()


class Watched(Supervisor):
    """A supervisor that writes down what it decides."""

    def __init__(self, *, diary: list, **common) -> None:
        super().__init__(**common)
        self.diary = diary

    def child_ended(self, name, error, *, restarted):
        self.diary.append(("ended", name, error, restarted))

    def receive_own(self, message: object) -> None:
        match message:
            case BaseException():
                raise message
            case "children":
                self.reply(self.children())
            case ChildSpec():
                self.add(message)
            case _:
                self.diary.append(("own", message))


class Tree:
    """A supervisor under test, its parent's ears and its diary."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.directory = Directory()
        self.diary: list = []
        self.parent, self.heard = mailbox(self.directory, "parent")
        self.failing: dict[str, int] = {}

    def spec(self, name: str, **terms) -> ChildSpec:
        def begin(parent, incarnation):
            if self.failing.get(name, 0) > 0:
                self.failing[name] -= 1
                raise OSError(f"no {name} today")
            return start(
                Child, name, directory=self.directory, parent=parent, incarnation=incarnation, diary=self.diary
            )

        return ChildSpec(id=name, start=begin, **terms)

    def run(self, *specs: ChildSpec, strategy=Strategy.ONE_FOR_ONE, budget=None) -> "Tree":
        self.top = start(
            Watched,
            "top",
            directory=self.directory,
            parent=self.parent,
            clock=self.clock,
            specs=specs,
            strategy=strategy,
            budget=budget or RestartBudget(50, 60.0),
            diary=self.diary,
        )
        assert ask(self.top, "children", 10) is not None
        return self

    def settle(self) -> None:
        """Wait until the supervisor and every child have nothing left to handle."""
        for _ in range(3):
            for name in ["top", *[n for n in self.directory.waiting() if n not in ("top", "parent")]]:
                handle = self.directory.find(name)
                if handle is not None and handle.alive:
                    ask(handle, "echo" if name != "top" else "children", 2)

    def crash(self, name: str, error=None) -> None:
        handle = self.directory.find(name)
        handle.tell(error or ValueError("boom"))
        assert handle.wait_down(30)
        self.settle()

    def incarnation(self, name: str):
        handle = self.directory.find(name)
        return None if handle is None or not handle.alive else ask(handle, "echo", 30)

    def back(self, name: str, incarnation: int, step: float = 0.05) -> None:
        """Let time pass until a child stands again."""
        for _ in range(400):
            if self.incarnation(name) == incarnation:
                return
            self.clock.advance(step)
            self.settle()
        raise AssertionError(f"{name} does not come back as {incarnation}: {self.diary}")

    def only(self, *kinds: str) -> list:
        return [entry for entry in self.diary if entry[0] in kinds]
