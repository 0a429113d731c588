"""Parses untrusted JSON; any problem with it is a JSONDecodeError, which is a ValueError."""

import json
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """The value of ``text``; deep nesting and huge numbers do not break the parser."""
    try:
        return json.loads(text)
    except RecursionError:
        raise json.JSONDecodeError("its brackets nest too deeply", "", 0) from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError as error:  # an integer of too many digits
        raise json.JSONDecodeError(str(error), "", 0) from None
