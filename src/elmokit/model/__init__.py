"""CHARACTER IDS -> LAYERS -> ONE VECTOR.

Shape letters used in every comment below this folder:

    B batch    T tokens    C characters    F filters    P projection    D = 2P
    L layers   V vocabulary    H cell    N distinct tokens (or any number of rows)
    S rows of a packed batch: the tokens of all sentences, step by step, with no padding
"""
