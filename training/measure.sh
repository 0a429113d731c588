#!/bin/sh
# Measure a model in every way its card reports:  training/measure.sh MODEL CORPUS DATA > figures.txt
# CORPUS: what `elmokit prepare` wrote. DATA: the unpacked data: corpus (with enwiki-3.txt), ewt, sst, wsd.
# Development data first: a model is chosen by what stands above "test". About 25 minutes on two cores.
set -eu
model=$1 corpus=$2 data=$3
here=$(dirname "$0")/../benchmarks/quality
python "$here/homonyms.py" "$model"
python "$here/pseudo_senses.py" "$data" "$model"
python "$here/semcor_senses.py" "$data" "states:$model" "$model"
elmokit analyse sense-separation "$model" --data "$data/wsd"
elmokit perplexity "$model" --data "$corpus" --max-tokens 60000
elmokit demo --model "$model"
echo "test"
python "$here/out_of_domain.py" "$data" --heldout "$corpus" --model "$model"
elmokit analyse pos "$model" --data "$data/ewt"
elmokit analyse senses "$model" "carried:$model" "states:$model" "carried:states:$model" --data "$data/wsd"
