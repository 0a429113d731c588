"""What a stored result was made of: compared when the section is asked for again."""

import json

from elmokit.analysis.report.config import ReportConfig
from elmokit.analysis.report.section import Section
from elmokit.analysis.results import plain


def make_key(config: ReportConfig, section: Section, fingerprint: str) -> str:
    """The model, and every setting that the section depends on."""
    parts = {name: plain(getattr(config, name)) for name in section.depends_on}
    return json.dumps([section.name, fingerprint, parts], default=str, sort_keys=True)


def fingerprint_of(key: str) -> str:
    """Of the model that a key was made with.

    >>> fingerprint_of('["pos", "1f2e", {}]')
    '1f2e'
    """
    return str(json.loads(key)[1])
