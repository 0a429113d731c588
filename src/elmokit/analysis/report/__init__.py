"""A report: every table and figure of the paper's analysis, on one page.

config.py           what a report is made of
commands.py         what is printed below each section, and makes it again
section.py          what a section is
layer_sections.py   those that look into the layers of a model
task_sections.py    those that train task models
stand_ins.py        the data of the tasks, as the notes name them
sections.py         all of them, in order
key.py              what a stored result was made of
make.py             computes what is asked for and not there
page.py             writes what is there, as HTML and Markdown
findings.py         the paper's findings, and what our numbers say to each
verdicts.py         when a difference is more than noise
summary.py          every layer at a glance
"""
