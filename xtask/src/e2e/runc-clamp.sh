#!/bin/sh
# Stands between dockerd and runc. Where root may not lower an oom_score_adj (no CAP_SYS_RESOURCE), a container that
# asks for a negative one does not start, and kubelet asks for -998 for every Pod: this makes it 0.
bundle=.
previous=
create=
for word in "$@"; do
  case $previous in --bundle | -b) bundle=$word ;; esac
  case $word in
    --bundle=*) bundle=${word#*=} ;;
    create | run) create=yes ;;
  esac
  previous=$word
done
if [ -n "$create" ]; then
  sed -i 's/"oomScoreAdj":-[0-9]*/"oomScoreAdj":0/' "$bundle/config.json"
fi
exec /usr/sbin/runc "$@"
