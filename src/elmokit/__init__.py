"""elmokit: deep contextualized word representations (ELMo).

text -> tokens -> character ids -> token vectors -> biLM layers -> mix -> task
"""

__version__ = "0.1.0"
