"""Sentences in, all layers of each token out: biLMs and what they are compared with.

encoder.py        what an encoder is, and how text is passed through one
bilm.py           biLMs: trained, untrained, or with their state carried from sentence to sentence
sentence_mean.py  another encoder's vectors with the mean of their sentence
static.py         static vectors such as GloVe
cove.py           CoVe
opening.py        from the name that a user gives to an encoder; each model is opened once
"""
