#!/bin/sh
# The command machine: the agent runs jobs on this host, and nothing of them stays.
. "${top_srcdir:-.}/t/test-lib.sh"

PATH=$top_builddir/t:$PATH
mkdir work

# spec CELLS: a boot spec on the command machine.
spec()
{
	printf '{"machine": "command", "dir": "%s", "timeout_ns": 60000000000,
		"silence_ns": 30000000000, "cells": [%s]}' "$FB_SCRATCH/work" "$1"
}

# run END: runs s.json; the result lies in r.json, and its end must be END.
run()
{
	boot-tool run s.json job >r.json
	fb_grep "^  \"end\": \"$1\"" r.json
}

fb_expect 'it runs in the given directory, and its output and times come back' '
	spec "{\"measure\": [\"sh\", \"-c\", \"pwd; echo oops >&2\"]}" >s.json
	run ok
	fb_grep "\"out\": \"$FB_SCRATCH/work.n\"" r.json
	fb_grep "\"err\": \"oops.n\"" r.json
	fb_grep "\"time.elapsed_time\": 0?\\." r.json
	fb_grep ! "\"blk\\." r.json
'
fb_expect 'files and prepare steps come before the measured one' '
	spec "{\"files\": [{\"path\": \"d/hello\", \"text\": \"echo \$1\"}],
		\"prepare\": [[\"cp\", \"d/hello\", \"copy\"]], \"measure\": [\"./copy\", \"a b\"]}" >s.json
	sed -i "s/echo .1/#!\\/bin\\/sh\\\\necho \\\\\"<\$1>\\\\\"/" s.json
	run ok
	fb_grep "\"out\": \"<a b>.n\"" r.json
'
fb_expect 'lines of FIRSTBAD_RESULT join the output, marked' '
	spec "{\"measure\": [\"sh\", \"-c\", \"echo chatter; echo iops 5 >\$FIRSTBAD_RESULT\"]}" >s.json
	run ok
	fb_grep "\"out\": \"chatter.nfirstbad: iops 5.n\"" r.json
'
fb_expect 'each run is a run of its own' '
	spec "{\"measure\": [\"sh\", \"-c\", \"echo x >>n; wc -l <n\"], \"runs\": 3},
		{\"measure\": [\"rm\", \"n\"]}" >s.json
	run ok
	fb_grep "\"out\": \"3.n\"" r.json
	[ "$(grep -c "\"cell\": 0" r.json)" -eq 3 ]
	[ "$(grep -c "\"cell\": 1" r.json)" -eq 1 ]
'
fb_expect 'a command that is not there is told by its name' '
	spec "{\"measure\": [\"no-such-command-here\"]}" >s.json
	run test-failed
	fb_grep "no-such-command-here: cannot run: No such file or directory" r.json
'
fb_expect 'a command that takes too long is killed with its children' '
	spec "{\"measure\": [\"sh\", \"-c\", \"sleep 4321 & sleep 4321\"], \"timeout_s\": 1}" >s.json
	run test-failed
	fb_grep "did not end in its time limit" r.json
	for i in 1 2 3 4 5; do
		pgrep -fx "sleep 4321" >/dev/null || break
		sleep 0.2
	done
	if pgrep -fx "sleep 4321"; then exit 1; fi
'
fb_expect 'kill -9 of the process that runs it leaves nothing' '
	spec "{\"measure\": [\"sh\", \"-c\", \"sleep 4322 & setsid sleep 4322\"]}" >s.json
	boot-tool run s.json job9 >/dev/null &
	pid=$!
	for i in $(seq 50); do
		[ "$(pgrep -fx "sleep 4322" | wc -l)" -ge 2 ] && break
		sleep 0.1
	done
	[ "$(pgrep -fx "sleep 4322" | wc -l)" -ge 2 ]
	kill -9 $pid
	for i in $(seq 50); do
		pgrep -fx "sleep 4322" >/dev/null || break
		sleep 0.1
	done
	if pgrep -fx "sleep 4322"; then exit 1; fi
'
fb_expect 'a job that asks for a file system is refused' '
	spec "{\"measure\": [\"true\"], \"fs\": {\"type\": \"ext4\", \"mkfs\": [\"true\"]}}" >s.json
	fb_must_fail boot-tool run s.json job 2>err
	fb_grep "makes no file systems" err
'
fb_done
