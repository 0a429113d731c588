"""A report: every table and figure of the paper's analysis, on one page.

config.py           the settings, and the runs of task models that follow from them
commands.py         command lines as the page shows them
section.py          what a section is
layer_sections.py   sections that look into the layers of a model
task_sections.py    sections that train task models
make.py             all sections in order; computes what is asked for and not there yet
page.py             writes what is there, as HTML and Markdown
findings.py         the paper's findings, and what our numbers say about each
verdicts.py         whether a difference is more than noise
"""
