"""Built-in sentences for eight ambiguous words, so that a first visit needs no corpus."""

from elmokit.analysis.words.demo import CASES

TWO_APPLES = CASES[0].sentences
"""The two sentences that the page shows first."""

FEATURED = (
    *TWO_APPLES,
    "The bank raised its interest rates in March.",
    "We sat on the bank of the river and watched the boats.",
    "She struck a match and lit the candle.",
    "They won the match in the last minute.",
)
"""The default sentences whose expectations and similarities a page shows."""

SENSES: dict[str, dict[str, tuple[str, ...]]] = {
    "apple": {
        "fruit": (
            TWO_APPLES[0],
            "She peeled an apple and cut it into slices.",
            "There was a single red apple left on the tree.",
            "He took an apple from the bowl and bit into it.",
            "A worm had found its way into the apple.",
            "Grandmother bakes a cake with one sour apple and a pear.",
        ),
        "company": (
            TWO_APPLES[1],
            "Apple announced a new phone on Tuesday.",
            "He has worked for Apple as an engineer since 2005.",
            "Shares of Apple rose by three percent.",
            "The lawsuit against Apple was settled out of court.",
            "Apple opened a store in our city last year.",
        ),
    },
    "bank": {
        "money": (
            "The bank raised its interest rates in March.",
            "He borrowed ten thousand dollars from the bank.",
            "The bank closed her account without a word.",
            "Two men robbed the bank on Friday morning.",
            "She works as a manager at a large bank in London.",
            "The government had to rescue the bank during the crisis.",
        ),
        "river": (
            "We sat on the bank of the river and watched the boats.",
            "Tall reeds grew along the muddy bank.",
            "The children slid down the bank into the cold water.",
            "A fisherman stood on the opposite bank of the stream.",
            "The flood washed away a part of the left bank.",
            "They pulled the boat up the bank and tied it to a tree.",
        ),
    },
    "play": {
        "theatre": (
            "She wrote a play about two sisters that opened in London last spring.",
            "The actor is best known for his role in a play by Shakespeare.",
            "The second act of the play was far too long.",
            "Critics praised the play, but the theatre stayed empty.",
            "He directed a school play about the founding of the town.",
        ),
        "sport": (
            "The shortstop made a great play to end the inning.",
            "It was the best defensive play of the game.",
            "The coach drew a new play on the board.",
            "A clever play by the captain led to the first goal.",
        ),
        "to take part in a game": (
            "The boys play football behind the school every afternoon.",
            "We play cards when it rains.",
            "They will play against the champions on Saturday.",
            "Children need time to play outside.",
        ),
        "to make music": (
            "She can play the violin and the piano.",
            "The band will play two new songs tonight.",
            "He used to play the trumpet in a jazz club.",
            "The orchestra began to play a slow waltz.",
        ),
    },
    "spring": {
        "season": (
            "The garden is full of tulips in spring.",
            "They plan to move to the coast next spring.",
            "After a long winter, spring came late that year.",
            "Farmers sow the wheat in early spring.",
            "It rained almost every day last spring.",
        ),
        "coil": (
            "The spring in the old mattress had come loose.",
            "A small steel spring pushes the button back.",
            "The watch stopped because its spring was broken.",
            "He compressed the spring and put it back into the lock.",
        ),
        "water": (
            "The hikers drank cold water from a mountain spring.",
            "A hot spring feeds the pool behind the hotel.",
            "The village was built around a clear spring.",
            "The spring dried up in the summer of the drought.",
        ),
    },
    "bat": {
        "animal": (
            "A bat flew out of the dark cave.",
            "The bat sleeps upside down and hunts insects at night.",
            "Something fluttered past the window; it was a bat.",
            "The wings of a bat are covered with thin skin.",
            "A tiny bat hung from the roof of the barn.",
        ),
        "club": (
            "He swung the bat and missed the ball.",
            "The player broke his bat in the third inning.",
            "She bought a wooden bat and a leather glove.",
            "He hit the ball so hard that the bat cracked.",
            "The batter dropped his bat and ran to first base.",
        ),
    },
    "match": {
        "game": (
            "They won the match in the last minute.",
            "The match was watched by thirty thousand people.",
            "He injured his knee during a tennis match.",
            "Rain delayed the start of the match.",
            "She lost her first match of the season.",
        ),
        "fire": (
            "She struck a match and lit the candle.",
            "He held a burning match to the dry wood.",
            "The last match in the box was wet.",
            "One careless match can burn down a forest.",
        ),
        "to go together": (
            "The curtains match the colour of the carpet.",
            "Her shoes do not match her dress.",
            "The fingerprints match those on the glass.",
            "Your answers must match the numbers in the table.",
        ),
    },
    "light": {
        "brightness": (
            "The light of the lamp fell on the table.",
            "A ray of light came through the window.",
            "Plants turn towards the light.",
            "They saw a faint light at the end of the tunnel.",
            "The bright light hurt his eyes.",
        ),
        "not heavy": (
            "The new bicycle is light and fast.",
            "She carried a light bag and a heavy suitcase.",
            "We had a light lunch before the journey.",
            "The tent is so light that a child can carry it.",
        ),
        "to set fire to": (
            "He tried to light a cigarette in the wind.",
            "They light candles in the church on Sundays.",
            "It took an hour to light the fire with wet wood.",
        ),
    },
    "bark": {
        "of a tree": (
            "The bark of the old oak was rough and grey.",
            "Beavers eat the bark of young trees.",
            "He carved two names into the bark of a birch.",
            "Insects had hidden under the loose bark.",
        ),
        "of a dog": (
            "The dogs bark whenever the bell rings.",
            "A loud bark woke the whole house.",
            "Her puppy started to bark at the postman.",
            "We heard the bark of a fox in the night.",
        ),
    },
}
"""Word -> sense -> sentences in which the word has that sense."""
