"""The one exception that a user should ever see: bad input, reported in one sentence."""

_LONGEST_MESSAGE = 2000


class InputError(ValueError):
    """Something the user gave cannot be used; the message names it, the reason and the cure.

    The command line prints the message alone and exits with status 1. Anything else that
    escapes is a defect of elmokit and keeps its traceback.
    """

    def __init__(self, message: str = "") -> None:
        """A message that quotes a huge value is cut in the middle: the cure stands at its end."""
        if len(message) > _LONGEST_MESSAGE:
            half = _LONGEST_MESSAGE // 2
            message = f"{message[:half]} ... {message[-half:]}"
        super().__init__(message)


def in_one_sentence(error: InputError | OSError) -> str:
    """What a user is told of an error that is no defect of elmokit."""
    if isinstance(error, OSError):
        return f"{error.filename or 'the system'}: {error.strerror or error}"
    return str(error)


def reason_of(error: BaseException) -> str:
    """The first line of what another library says, or the name of its error, bounded in length."""
    lines = str(error).splitlines()
    return (lines[0][:200] if lines else "") or type(error).__name__


def missing_extra(package: str, extra: str, purpose: str) -> InputError:
    """The error to raise when an optional dependency is not installed."""
    return InputError(f"{purpose} needs {package}: install it with  pip install 'elmokit[{extra}]'")
