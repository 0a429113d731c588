#!/bin/sh
# Train en-small further, behind everything else:  training/train.sh CORPUS GLOVE RUN SKIP [--set ...]
# CORPUS: what unread_text.py wrote; SKIP: how much of it has been read, in 128 streams (docs/reference/en-small.md). An
# existing RUN is resumed. The rate falls over the last 80 % of the budget: give what there is time for as
# --set train.max_tokens=N.
set -eu
# Next to other processes, threads that spin while they wait would halve the speed.
export GOMP_SPINCOUNT=500 THP_MEM_ALLOC_ENABLE=1 GLIBC_TUNABLES=glibc.malloc.hugetlb=1
corpus=$1 glove=$2 run=$3 skip=$4
shift 4
if [ -d "$run" ]; then
  exec nice -n 19 elmokit train --resume "$run" "$@"
fi
exec nice -n 19 elmokit train small --data "$corpus" -o "$run" \
  --set train.start_from=en-small --set train.skip_tokens="$skip" --set train.vectors="$glove" \
  --set train.batch_size=128 --set train.window=60 --set train.warmup_share=0.01 --set train.decay_share=0.8 \
  --set train.average=300 --set train.precision=auto --set train.context=0.3 --set train.meaning=1 "$@"
