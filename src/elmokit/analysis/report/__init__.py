"""A report: every table and figure of the paper's analysis, on one page.

config.py           what a report is made of
section.py          what a section is
layer_sections.py   those that look into the layers of a model
task_sections.py    those that train task models
sections.py         all of them, in order
make.py             computes what is asked for and not there
page.py             writes what is there, as HTML and Markdown
findings.py         the paper's findings, and what our numbers say to each
summary.py          every layer at a glance
"""
