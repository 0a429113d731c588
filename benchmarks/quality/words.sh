#!/usr/bin/env bash
# Every table and figure of docs/guide/words.md, by one command each:  benchmarks/quality/words.sh DATA [MODEL]
# DATA holds corpus/ (fiction, reviews, mail and news .txt) and wsd/ (semcor30, wordnet30).
# About ten CPU minutes on one core with en-small. Tables go to words-results/, figures to docs/guide/figures/.
set -euo pipefail
data=$1 model=${2:-en-small} out=words-results figures=docs/guide/figures
mkdir -p "$out" "$figures"

echo "I don't think the old man will ever finish his soup." > "$out/sentence.txt"
elmokit surprisal "$model" "$out/sentence.txt" --words -o "$out/surprisal.tsv" --picture "$figures/surprisal.svg"
elmokit substitutes "$model" "The *bank* raised its rates ." --picture "$figures/substitutes.svg" > "$out/substitutes.md"
elmokit analyse substitutes "$model" --data "$data/wsd" --instances 200 > "$out/synonyms.md"
elmokit senses bank "$data/corpus/news.txt" -m "$model" --limit 120 -o "$out/bank" > "$out/senses.md"
cp "$out/bank/senses.svg" "$figures/senses-of-bank.svg"
elmokit analyse induction "$model" --data "$data/wsd" --lemmas 30 --picture "$figures/sense-induction.svg" > "$out/induction.md"
for text in news reviews; do  # news chose the measure, reviews is the test
  elmokit analyse pseudo-change "$data/corpus/$text.txt" -m "$model" --tokens 600000 --words 30 --occurrences 25 \
    --picture "$figures/pseudo-change-$text.svg" > "$out/pseudo-change-$text.md"
done
elmokit change "$data/corpus/fiction.txt" "$data/corpus/reviews.txt" -m "$model" --tokens 1500000 --limit 60 \
  --targets benchmarks/quality/words-targets.txt --pages 30 --top 30 -o "$out/targets" > "$out/targets.md"
elmokit change "$data/corpus/fiction.txt" "$data/corpus/reviews.txt" -m "$model" --tokens 300000 --min-count 100 \
  --limit 30 --pages 10 --top 20 -o "$out/fiction-reviews" > "$out/fiction-reviews.md"
elmokit change "$data/corpus/fiction.txt" "$data/corpus/mail.txt" -m "$model" --tokens 250000 --min-count 100 \
  --limit 30 --pages 10 --top 12 -o "$out/fiction-mail" > "$out/fiction-mail.md"
cp "$out/targets/change.svg" "$figures/change-fiction-reviews.svg"
