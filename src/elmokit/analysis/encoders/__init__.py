"""Sentences in, all layers of each token out: biLMs and what they are compared with.

encoder.py        what an encoder is, and how text is passed through one
bilm.py           biLMs: trained, untrained, or with their state carried from sentence to sentence
sentence_mean.py  another encoder's vectors, replaced by or added to their sentence mean
static.py         static vectors such as GloVe
cove.py           CoVe
opening.py        opens encoders by name; each model is read once
"""
