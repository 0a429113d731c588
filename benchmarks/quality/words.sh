#!/usr/bin/env bash
# Every table, figure and measured number of docs/guide/words.md:
#   benchmarks/quality/words.sh DATA [MODEL] [full|small]
# DATA holds corpus/ (fiction, reviews, mail and news .txt) and wsd/ (semcor30, wordnet30).
#
# Results go to words-results/, one file per part; parts that are there already are not computed again, so a
# run that was stopped resumes: remove words-results/ to start anew. Figures go to docs/guide/figures/, and at
# the end all results are written into the page (words_page.py). Two parts run at a time, one thread each; the
# last two, memory and speed, run alone. Each part says how long it took. With "small", the parts are a tenth of
# the size, the figures stay in words-results/ and the page is only checked: a rehearsal.
set -euo pipefail
data=$1 model=${2:-en-small} size=${3:-full}
here=benchmarks/quality out=words-results figures=docs/guide/figures
instances=200 limit=120 lemmas=30 pseudo=(--tokens 600000 --words 30 --occurrences 25)
targets=(--tokens 1500000 --limit 60 --pages 30 --top 30) memory=32768 speed=8000
reviews=(--tokens 300000 --min-count 100 --limit 30) mail=(--tokens 250000 --min-count 100 --limit 30)
if [ "$size" = small ]; then
  out=words-results-small figures=$out/figures
  instances=20 limit=40 lemmas=3 pseudo=(--tokens 60000 --words 6 --occurrences 10)
  targets=(--tokens 150000 --limit 20 --pages 3 --top 30) memory=1000 speed=300
  reviews=(--tokens 20000 --min-count 100 --limit 10) mail=(--tokens 20000 --min-count 100 --limit 10)
fi
mkdir -p "$out" "$figures"
text() { echo "$data/corpus/$1.txt"; }
compare() { elmokit change "$(text fiction)" "$(text "$1")" -m "$model" --markdown -o "$out/$2" "${@:3}"; }

model() { echo "Made with the model $model: $(elmokit info "$model" | sed -n 's/^corpus *//p')."; }
surprisal() {
  echo "I don't think the old man will ever finish his soup." > "$out/sentence.txt"
  elmokit surprisal "$model" "$out/sentence.txt" --words -q -o "$out/surprisal.tsv" --picture "$figures/surprisal.svg"
}
substitutes() {
  elmokit substitutes "$model" "The *bank* raised its rates ." --markdown --picture "$figures/substitutes.svg"
}
synonyms-dev() { elmokit analyse substitutes "$model" --data "$data/wsd" --half dev --instances "$instances" --markdown; }
synonyms() { elmokit analyse substitutes "$model" --data "$data/wsd" --instances "$instances" --markdown; }
senses() {
  elmokit senses bank "$(text news)" -m "$model" --limit "$limit" -o "$out/bank" --markdown
  cp "$out/bank/senses.svg" "$figures/senses-of-bank.svg"
}
induction() {
  elmokit analyse induction "$model" --data "$data/wsd" --lemmas "$lemmas" --markdown --picture "$figures/sense-induction.svg"
}
pseudo-change() {
  elmokit analyse pseudo-change "$(text "$1")" -m "$model" "${pseudo[@]}" --markdown --picture "$figures/pseudo-change-$1.svg"
}
pseudo-change-news() { pseudo-change news; }       # news chose the measure
pseudo-change-reviews() { pseudo-change reviews; } # reviews are the test
change-targets() {
  compare reviews targets --targets "$here/words-targets.txt" "${targets[@]}"
  cp "$out/targets/change.svg" "$figures/change-fiction-reviews.svg"
}
change-reviews() { compare reviews fiction-reviews "${reviews[@]}" --pages 10 --top 20; }
change-mail() { compare mail fiction-mail "${mail[@]}" --pages 10 --top 12; }
memory() { OMP_NUM_THREADS=$(nproc) python "$here/words_memory.py" "$data/corpus" --model "$model" --tokens "$memory"; }
speed() { OMP_NUM_THREADS=$(nproc) python benchmarks/speed/surprisal.py "$(text news)" --model "$model" --tokens "$speed"; }

part() { # run one part unless its result is there
  [ -e "$out/$1.md" ] && return
  local TIMEFORMAT="$1: %R s, %U s of CPU"
  time "$1" > "$out/$1.part"
  mv "$out/$1.part" "$out/$1.md"
}

if [ -n "${WORDS_PART:-}" ]; then
  part "$WORDS_PART"
  exit
fi
export OMP_NUM_THREADS=1
# The longest first, so that both cores are busy to the end.
printf '%s\n' change-targets pseudo-change-news pseudo-change-reviews induction change-reviews change-mail senses \
  synonyms synonyms-dev substitutes surprisal model |
  xargs -P 2 -I{} env WORDS_PART={} bash "$0" "$data" "$model" "$size"
for alone in memory speed; do part "$alone"; done
if [ "$size" = small ]; then check=--check; fi
python "$here/words_page.py" "$out" docs/guide/words.md ${check:-}
