"""A few built-in sentences, for warm starts and for statistics of a model's vectors."""

SAMPLE_SENTENCES: tuple[tuple[str, ...], ...] = tuple(
    tuple(sentence.split())
    for sentence in (
        "The ship reached the harbour before the storm .",
        "She opened the letter , read it twice and put it back into the drawer .",
        "How many people still remember the old railway station ?",
        "Prices rose by 3.2 % in March , the bank said on Tuesday .",
        '" I would not have believed it , " he said , " if I had not seen it . "',
        "The team won its first match of the season on Saturday .",
        "Water boils at a lower temperature in the mountains .",
        "Dr. Weber , who is 41 , studied biology in Zürich and Kraków .",
        "It rained all night .",
        "They play chess in the park while the children play with a ball .",
        "Neither the map nor the guide mentioned that the bridge was closed .",
        "After the concert we walked home along the river and talked about the music .",
    )
)
