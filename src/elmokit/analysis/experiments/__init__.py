"""Tables and figures that train task models.

runs.py                 the runs that they share
table1.py               every task with and without ELMo
layers.py               Tables 2 and 3: which layers, and where
sample_efficiency.py    Figure 1
mix_weights.py          Figure 2
transfer.py             the supplement: fine-tuning on a task's text
"""
