"""``runner chat``: a conversation that outlives a stopped answer and a failed runner."""

import os
import pty
import signal
import uuid

from tests.command.commands import COMMAND, MARK, marked, run, worker_of


class Terminal:
    """A chat in a terminal."""

    def __init__(self, *arguments: str) -> None:
        self.mark = uuid.uuid4().hex
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.environ[MARK] = self.mark
            os.execv(COMMAND[0], [*COMMAND, "chat", "--model", "tiny", *arguments])
        self.seen = b""

    def wait_for(self, word: bytes) -> None:
        """Read until ``word`` is shown, after what was waited for before."""
        while word not in self.seen:
            self.seen += os.read(self.end, 4096)
        self.seen = self.seen.partition(word)[2]

    def type(self, text: bytes) -> None:
        os.write(self.end, text)

    def code(self) -> int:
        """Wait for its end."""
        try:
            while os.read(self.end, 4096):
                pass
        except OSError:
            # Linux's word for the end of a terminal.
            os.close(self.end)
        _, status = os.waitpid(self.pid, 0)
        assert not marked(self.mark)
        return os.waitstatus_to_exitcode(status)


def test_lines_in_answers_out() -> None:
    code, out, err = run("chat", "--model", "tiny", "--max-tokens", "6", input="hello\n/reset\n\nhello\n/what\n")
    first, second = out.splitlines()
    assert code == 0
    assert first == second
    assert "/what is not known" in err


def test_exit_ends_it_before_the_input_does() -> None:
    code, out, _ = run("chat", "--model", "tiny", "--max-tokens", "6", input="/exit\nhello\n")
    assert (code, out) == (0, "")


def test_turns_are_kept_until_they_are_reset() -> None:
    _, out, _ = run("chat", "--model", "tiny", "--max-tokens", "6", input="hello\nhello\n")
    first, second = out.splitlines()
    assert first != second


def test_a_model_that_cannot_be_had_is_told() -> None:
    code, _, err = run("chat", "--model", "/no/such/model", input="hello\n")
    assert code == 3
    assert "/no/such/model" in err


def test_a_prompt_that_is_too_long_is_told_and_the_conversation_goes_on() -> None:
    code, out, err = run("chat", "--model", "tiny", "--max-tokens", "6", input="word " * 2000 + "\nhello\n")
    assert code == 0
    assert "context_limit" in err
    assert len(out.splitlines()) == 1


def test_ctrl_c_stops_an_answer_and_ctrl_d_ends_the_conversation() -> None:
    terminal = Terminal("--max-tokens", "400")
    terminal.wait_for(b"> ")
    terminal.type(b"hello\n")
    terminal.wait_for(b"\n")
    terminal.type(b"\x03")
    terminal.wait_for(b"> ")
    terminal.type(b"\x04")
    assert terminal.code() == 0


def test_a_runner_that_died_is_told_and_restarted_if_that_is_wanted() -> None:
    terminal = Terminal("--max-tokens", "6")
    terminal.wait_for(b"> ")
    worker = worker_of(terminal.mark)
    assert worker is not None
    os.kill(worker, signal.SIGKILL)
    terminal.type(b"hello\n")
    terminal.wait_for(b"killed_externally")
    terminal.wait_for(b"Restart? [y/N] ")
    terminal.type(b"y\n")
    terminal.wait_for(b"> ")
    assert worker_of(terminal.mark) not in (None, worker)
    terminal.type(b"/exit\n")
    assert terminal.code() == 0


def test_a_runner_that_died_ends_the_conversation_if_a_restart_is_not_wanted() -> None:
    terminal = Terminal()
    terminal.wait_for(b"> ")
    worker = worker_of(terminal.mark)
    assert worker is not None
    os.kill(worker, signal.SIGKILL)
    terminal.type(b"hello\n")
    terminal.wait_for(b"Restart? [y/N] ")
    terminal.type(b"n\n")
    assert terminal.code() == 1


def test_sigterm_ends_it_with_its_process() -> None:
    terminal = Terminal()
    terminal.wait_for(b"> ")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.code() == 143
