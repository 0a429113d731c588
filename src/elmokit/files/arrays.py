"""Memory-maps NumPy's .npy files; any problem with one is a ValueError."""

import tokenize
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


def map_npy(path: Path) -> npt.NDArray[Any]:
    """The memory-mapped array of a file; nothing is unpickled."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a damaged header may look like Python 2's
            return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError, SyntaxError, TypeError, OverflowError, MemoryError) as error:
        raise ValueError(str(error) or type(error).__name__) from None
    except tokenize.TokenError:  # numpy parses the header as Python
        raise ValueError("its header is damaged") from None
