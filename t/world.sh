# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# A made world for the command machine: a history whose files say how fast each commit is.
# Sourced after test-lib.sh.
#
# world_new N: repository ./repo with commits c1..cN (tags), speed 100 each, and ./plan.yaml.
# world_set FROM TO VALUE: commits FROM..TO have that speed; "broken" makes the program fail.
# Both write ./world; world_make turns it into the repository.
#
# The bench prints the speed with a noise of about 1 % from a fixed sequence, so a test gives
# the same answer each time.

world_new()
{
	world_n=$1
	i=1
	: >world
	while [ "$i" -le "$world_n" ]; do
		echo "$i 100" >>world
		i=$((i + 1))
	done
}

world_set()
{
	awk -v from="$1" -v to="$2" -v v="$3" \
		'{ if ($1 >= from && $1 <= to) $2 = v; print }' world >world.new
	mv world.new world
}

world_make()
{
	cat >"$FB_SCRATCH/bench" <<-'EOF'
	#!/bin/sh
	speed=$(cat speed) || exit 1
	echo x >>"$FB_SCRATCH/count"
	[ "$speed" != broken ] || exit 3
	n=$(wc -l <"$FB_SCRATCH/count")
	awk -v s="$speed" -v n="$n" \
		'BEGIN { printf "firstbad: score %.4f\n", s * (1 + ((n * 7919) % 13 - 6) / 600) }'
	EOF
	chmod +x "$FB_SCRATCH/bench"
	: >"$FB_SCRATCH/count"
	cat >plan.yaml <<-EOF
	machine: command
	min_effect: 5%
	boots: {min: 3, max: 30}
	matrix:
	  - testcase: command
	    command: $FB_SCRATCH/bench
	EOF
	git init -q repo
	awk '{
		msg = "change " $1
		text = $2 "\n"
		printf "commit refs/heads/main\nmark :%d\n", $1
		printf "committer C O Mitter <c@example.com> %d +0000\n", 1112911993 + 60 * $1
		printf "data %d\n%s\n", length(msg), msg
		if ($1 > 1) printf "from :%d\n", $1 - 1
		printf "M 100644 inline speed\ndata %d\n%s\n", length(text), text
		other = $1 "\n"
		printf "M 100644 inline other\ndata %d\n%s\n", length(other), other
		printf "reset refs/tags/c%d\nfrom :%d\n\n", $1, $1
	}' world | git -C repo fast-import --quiet
	git -C repo reset -q --hard main
}
