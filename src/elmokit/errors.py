"""The only exception that users should see: bad input, reported in one sentence."""

_LONGEST_MESSAGE = 2000


class InputError(ValueError):
    """Something the user gave cannot be used; the message names it, the reason and the cure.

    The command line prints only the message and exits with status 1. Any other exception is a bug
    in elmokit and keeps its traceback.
    """

    def __init__(self, message: str = "") -> None:
        """Cut a message that quotes a huge value in the middle: the cure is at its end."""
        if len(message) > _LONGEST_MESSAGE:
            half = _LONGEST_MESSAGE // 2
            message = f"{message[:half]} ... {message[-half:]}"
        super().__init__(message)


def in_one_sentence(error: InputError | OSError) -> str:
    """The message for an error that is not a bug in elmokit."""
    if isinstance(error, OSError):
        return f"{error.filename or 'the system'}: {error.strerror or error}"
    return str(error)


def reason_of(error: BaseException) -> str:
    """The first line of another library's message, or the name of its error, bounded in length."""
    lines = str(error).splitlines()
    return (lines[0][:200] if lines else "") or type(error).__name__


def missing_extra(package: str, extra: str, purpose: str) -> InputError:
    """The error to raise when an optional dependency is not installed."""
    return InputError(f"{purpose} needs {package}: install it with  pip install 'elmokit[{extra}]'")
