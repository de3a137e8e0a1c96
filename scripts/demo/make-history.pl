#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# Cuts the real difference between two kernel releases into a history, and plants a regression.
#
# usage: make-history.pl REPO FROM TO COMPILED SEED KIND OUT
#
# REPO      bare repository that holds the commits FROM and TO
# COMPILED  file that lists the sources compiled with the configuration of the demo
# SEED      number: order of the pieces, place of the regression, where ranges do not build
# KIND      what is planted (see %plant), "seed" to choose by SEED, or "none"
# OUT       the history as a table: NR OID WHAT PATHS SUBJECT, tab separated, oldest first
#
# Branches made: demo/SEED-KIND. The commit ids depend on nothing but the arguments.
#
# The history begins with FROM and one commit of all that everything depends on (headers,
# build files), together with the sources that cannot be parted from it. What follows is one
# commit for each compiled source, or for a few that only compile together, mixed with
# commits that leave the image as it is. Pieces depend on each other; the order keeps to
# most of that, but some pairs are torn on purpose: the commits between them do not build.
use strict;
use warnings;
use File::Spec;
use IO::Handle;
use IPC::Open2;

$SIG{__DIE__} = sub { print STDERR $_[0]; exit 2 };
die "usage: make-history.pl REPO FROM TO COMPILED SEED KIND OUT\n" unless @ARGV == 7;
my ($repo, $from, $to, $compiled_file, $seed, $kind, $out_file) = @ARGV;
die "the seed '$seed' is not a number\n" unless $seed =~ /^\d{1,9}$/;

# ---- chance: a small generator of our own, the same in every version of perl ----

my $state = ($seed * 2654435761 + 12345) % 4294967296;
sub chance
{
	my ($n) = @_;
	return 0 if $n < 2;
	for (1 .. 2) {
		$state ^= ($state << 13) % 4294967296;
		$state ^= $state >> 17;
		$state ^= ($state << 5) % 4294967296;
	}
	return $state % $n;
}

sub shuffle
{
	my @list = @_;
	for (my $i = $#list; $i > 0; $i--) {
		my $j = chance($i + 1);
		@list[$i, $j] = @list[$j, $i];
	}
	return @list;
}

# ---- git ----

sub git
{
	open(my $pipe, '-|', 'git', '-C', $repo, @_) or die "git: $!\n";
	binmode $pipe;
	local $/;
	my $text = <$pipe> // '';
	# git grep ends with 1 when it found nothing.
	close($pipe) or ($_[0] eq 'grep' && $? == 256) or die "git $_[0]: failed\n";
	return $text;
}

# One long-lived git cat-file: a process for each blob takes most of the time otherwise.
my ($batch_in, $batch_out);
sub contents
{
	my ($oid) = @_;
	return '' if $oid =~ /^0+$/;
	if (!$batch_in) {
		open2($batch_out, $batch_in, 'git', '-C', $repo, 'cat-file', '--batch');
		binmode $batch_out;
	}
	print $batch_in "$oid\n";
	$batch_in->flush;
	my $head = <$batch_out> // '';
	my ($size) = $head =~ /^[0-9a-f]+ blob (\d+)$/ or die "git cat-file: $head\n";
	my $text = '';
	while (length($text) < $size + 1) {
		read($batch_out, $text, $size + 1 - length($text), length($text))
			or die "git cat-file ended early\n";
	}
	chop $text;
	return $text;
}

$from = git('rev-parse', '--verify', "$from^{commit}") =~ s/\n//r;
$to = git('rev-parse', '--verify', "$to^{commit}") =~ s/\n//r;

# ---- what differs ----

my %change; # path => { mode, old, new } with blob ids; mode 000000: deleted
my @raw = split /\0/, git('diff', '--raw', '--no-renames', '--no-abbrev', '-z', $from, $to);
while (@raw) {
	my ($meta, $path) = splice(@raw, 0, 2);
	my (undef, $mode, $old, $new, undef) = split / /, $meta;
	$change{$path} = { mode => $mode, old => $old, new => $new };
}
die "the two releases do not differ\n" unless %change;

open(my $in, '<', $compiled_file) or die "$compiled_file: $!\n";
my %compiled = map { chomp; $_ => 1 } <$in>;
close $in;
my %compiled_dir;
m,^(.*)/, and $compiled_dir{$1} = 1 for keys %compiled;

# Sources that are compiled as a part of another one, and who includes which local header.
my (%part_of, %users);
for my $line (split /\n/, git('grep', '-E', '^#[ ]*include "[^"]+\.[ch]"', $from, '--', '*.c')) {
	my ($file, $name) = $line =~ /^[0-9a-f]+:([^:]+):#\s*include "([^"]+)"/ or next;
	next unless $compiled{$file};
	my $path = $file =~ s,[^/]+$,,r . $name;
	1 while $path =~ s,[^/]+/\.\./,,;
	if ($path =~ /\.c$/) { $part_of{$path} = $file } else { $users{$path}{$file} = 1 }
}

# A header that more files than this include is for the good end: crossing it would mean
# building a whole directory again.
use constant MANY_USERS => 20;

sub class_of
{
	my ($path) = @_;
	my $c = $change{$path};
	my ($dir) = $path =~ m,^(.*)/, ? $1 : '';
	my $built = $compiled{$path} || $part_of{$path};
	# What comes or goes as a whole changes the build files, too.
	return 'base' if $built && ($c->{old} =~ /^0+$/ || $c->{mode} eq '000000');
	return 'piece' if $built;
	return 'base' if $path =~ m,(^|/)(Makefile|Kbuild|Kconfig)[^/]*$,;
	return 'base' if $path =~ m,^(include|scripts|usr|certs|arch/x86|tools/(objtool|include|lib|arch/x86|build)|lib/raid6)/,;
	return 'base' if $path =~ m,(\.lds\.S|\.tbl|asm-offsets\.c|^kernel/bounds\.c)$,;
	if ($path =~ /\.h$/ && $compiled_dir{$dir}) {
		return 'base' if $c->{old} =~ /^0+$/ || $c->{mode} eq '000000';
		my $n = keys %{ $users{$path} // {} };
		return $n == 0 ? 'same' : $n > MANY_USERS ? 'base' : 'piece';
	}
	return 'same';
}

my (%class, @base, @piece, @same);
for my $path (sort keys %change) {
	my $class = class_of($path);
	# arch/x86/kvm is large and not built: it may as well stay with the other files.
	$class = 'same' if $class eq 'base' && $path =~ m,^arch/x86/kvm/, && !$compiled_dir{'arch/x86/kvm'};
	$class{$path} = $class;
	push @{ { base => \@base, piece => \@piece, same => \@same }->{$class} }, $path;
}

# ---- who depends on whom ----
#
# A rough reading of C, with words instead of a grammar. It need not be right everywhere:
# where it is wrong a commit does not build, which a history may have, or two files share a
# commit that could have had one each.

my %keyword = map { $_ => 1 } qw(if else for while do switch case return sizeof typeof static
	inline extern const struct union enum void int long unsigned short char bool size_t break
	continue goto default define ifdef ifndef endif include defined __attribute__ NULL true
	false likely unlikely u8 u16 u32 u64 s32 s64);

sub strip
{
	my ($text) = @_;
	$text =~ s,/\*.*?\*/, ,gs;
	$text =~ s,//[^\n]*, ,g;
	$text =~ s/"(\\.|[^"\\\n])*"/""/g;
	return $text;
}

sub words
{
	my %w;
	$w{$_} = 1 for grep { length > 2 && !$keyword{$_} } $_[0] =~ /[A-Za-z_]\w*/g;
	return \%w;
}

# name => "kind signature" of the functions declared or defined at the outer level, and macros
sub names
{
	my ($text) = @_;
	my %sig;
	$text =~ s/\\\n/ /g;
	while ($text =~ /^#\s*define\s+(\w+)(\([^)]*\))?/mg) {
		$sig{$1} = 'macro ' . ($2 // '') unless $1 =~ /^_.*_H_?$/;
	}
	# A trace event is a function trace_NAME() with the arguments of TP_PROTO.
	while ($text =~ /^(?:TRACE_EVENT|DEFINE_EVENT|DECLARE_TRACE)\w*\((?:\s*\w+,)??\s*(\w+),\s*TP_PROTO\((.*?)\),\s*TP_ARGS/msg) {
		my ($name, $args) = ($1, $2);
		$sig{"trace_$name"} = 'declared ' . ($args =~ s/\s+/ /gr);
	}
	while ($text =~ /^([A-Za-z_][^;{}()#]*?\b)(\w+)\s*\(([^{};]*)\)[^{};()]*([;{])/mg) {
		my ($head, $name, $args, $end) = ($1, $2, $3, $4);
		next if $keyword{$name};
		my $sig = "$head($args)" =~ s/\s+/ /gr;
		my $what = $head =~ /\bstatic\b/ ? 'static' : $end eq '{' ? 'extern' : 'declared';
		next if $what eq 'declared' && exists $sig{$name};
		$sig{$name} = "$what $sig";
	}
	return \%sig;
}

# What a header offers: names, and members of structs and enums.
sub offers
{
	my ($text) = @_;
	my %offer = map { $_ => 1 } keys %{ names($text) };
	$offer{$1} = 1 while $text =~ /(\w+)(?:\[[^\]]*\])?\s*(?:[;,]|:\s*\d+;|=[^=;]*,)/g;
	return \%offer;
}

my %facts;
sub facts
{
	my ($path) = @_;
	return $facts{$path} //= do {
		my ($old, $new) = map { strip(contents($change{$path}{$_})) } 'old', 'new';
		my ($wo, $wn, $so, $sn) = (words($old), words($new), names($old), names($new));
		my %f = (words_old => $wo, words_new => $wn, path => $path);
		$f{came} = { map { $_ => 1 } grep { !$wo->{$_} } keys %$wn };
		$f{went} = { map { $_ => 1 } grep { !$wn->{$_} } keys %$wo };
		# Another signature, where both versions have the name.
		$f{changed} = { map { $_ => 1 }
				grep { exists $so->{$_} && $so->{$_} =~ s/^\w+ //r ne $sn->{$_} =~ s/^\w+ //r }
				keys %$sn };
		$f{defined} = { map { $_ => 1 } grep { $sn->{$_} =~ /^extern/ && ($so->{$_} // '') !~ /^extern/ } keys %$sn };
		$f{undefined} = { map { $_ => 1 } grep { $so->{$_} =~ /^extern/ && ($sn->{$_} // '') !~ /^extern/ } keys %$so };
		if ($path =~ /\.h$/) {
			my ($oo, $on) = (offers($old), offers($new));
			$f{came} = { map { $_ => 1 } grep { $on->{$_} } keys %{ $f{came} } };
			$f{went} = { map { $_ => 1 } grep { $oo->{$_} } keys %{ $f{went} } };
		}
		$f{statics_old} = { map { $_ => 1 } grep { $so->{$_} =~ /^static/ } keys %$so };
		\%f;
	};
}

# The words on the lines that differ.
my %touched;
{
	my $path;
	for my $line (split /\n/, git('diff', '-U0', '--no-renames', '--no-color', '--src-prefix=a/',
				      '--dst-prefix=b/', $from, $to, '--',
				      grep { /\.[chS]$/ } @base, @piece)) {
		if ($line =~ /^diff --git a\/(.*) b\/\1$/) { $path = $1; next }
		next if $line =~ /^(\+\+\+|---) /;
		if ($line =~ /^[+-](.*)/) {
			$touched{$path}{$_} = 1 for keys %{ words(strip($1)) };
		}
	}
}

sub common
{
	my ($a, $b) = @_;
	($a, $b) = ($b, $a) if keys %$a > keys %$b;
	my ($first) = sort grep { $b->{$_} } keys %$a;
	return $first;
}

sub near
{
	my ($header, $source) = @_;
	return 1 if $class{$header} eq 'base' && $header =~ m,(^|/)include/,;
	my ($dir) = $header =~ m,^(.*/),;
	return $users{$header}{$source} || index($source, $dir) == 0;
}

# Must the change of the source and that of the header be in one commit? The word why, or undef.
sub is_tied
{
	my ($h, $s) = @_;
	my ($fh, $fs) = (facts($h), facts($s));
	# A prototype that changed, and the source was adapted to it.
	my $why = common($fh->{changed}, $touched{$s} // {});
	# Something is gone from the header, and the source no longer needs it.
	$why //= common($fh->{went}, $fs->{went});
	# The header declares what the old source has as its own.
	$why //= common($fh->{came}, $fs->{statics_old});
	return $why;
}

# These are of no driver that the demo compiles; reading them takes time.
my @headers = grep { /\.h$/ && !m,^include/(drm|dt-bindings|media|sound|video|ufs|rdma|scsi)/, } @base, @piece;
my %parent = map { $_ => $_ } @piece, 'base';
sub root
{
	my ($x) = @_;
	$x = $parent{$x} while $parent{$x} ne $x;
	return $x;
}

my %torn_ok; # header => sources tied to it: candidates for a range that does not build
for my $h (@headers) {
	for my $s (grep { !/\.h$/ } @piece) {
		next unless near($h, $s);
		my $why = is_tied($h, $s);
		next unless defined $why;
		my ($a, $b) = (root($class{$h} eq 'base' ? 'base' : $h), root($s));
		next if $a eq $b;
		if ($a eq 'base' || $b eq 'base') {
			$parent{$a eq 'base' ? $b : $a} = 'base';
		} else {
			$parent{$b} = $a;
			push @{ $torn_ok{$h} }, $s;
		}
		warn "tied: $h $s ($why)\n" if $ENV{DEMO_DEBUG};
	}
}
push @base, grep { root($_) eq 'base' } @piece;
@piece = grep { root($_) ne 'base' } @piece;

my %unit; # root path => paths
push @{ $unit{ root($_) } }, $_ for @piece;

# First before second: it would not compile or not link the other way round.
my %before; # unit => { unit that must come earlier => word }
for my $a (@piece) {
	my $fa = facts($a);
	for my $b (@piece) {
		next if $a eq $b || root($a) eq root($b) || $b =~ /\.h$/;
		my $why;
		# Who defines it needs no declaration before: only its users do.
		if ($a =~ /\.h$/ && near($a, $b)) {
			my %uses = %{ facts($b)->{came} };
			delete @uses{ keys %{ facts($b)->{defined} } };
			$why = common($fa->{came}, \%uses);
		}
		$why //= common($fa->{defined}, facts($b)->{came});
		if (defined $why) {
			$before{ root($b) }{ root($a) } = $why;
			warn "order: $a before $b ($why)\n" if $ENV{DEMO_DEBUG};
			next;
		}
		$why = common(facts($b)->{undefined}, $fa->{went}) // next;
		$before{ root($b) }{ root($a) } = $why;
		warn "order: $a before $b ($why gone)\n" if $ENV{DEMO_DEBUG};
	}
}

# ---- the order ----

# Tear at most this many pairs, with so many other commits between the two.
use constant { TORN_MAX => 3, GAP_MIN => 2, GAP_MAX => 4 };
my @torn; # [early unit, late unit]
{
	my @candidates;
	for my $late (sort keys %before) {
		# The one that needs the other comes first: it does not build until that arrives.
		push @candidates, map { ["$late", $_] } sort keys %{ $before{$late} };
	}
	for my $h (sort keys %torn_ok) {
		my $r = root($h);
		my @rest = grep { $_ ne $h } @{ $unit{$r} // [] };
		push @candidates, ['split', $r, $h, @rest] if @rest;
	}
	my %used;
	for my $c (shuffle(@candidates)) {
		last if @torn >= TORN_MAX;
		if ($c->[0] eq 'split') {
			my (undef, $r, $h, @rest) = @$c;
			# Splitting a unit that others are ordered against would lose that order.
			next if $used{$r}++ || $before{$r} || grep { $_->{$r} } values %before;
			delete $unit{$r};
			$unit{"h:$h"} = [$h];
			$unit{"s:$h"} = \@rest;
			push @torn, ["h:$h", "s:$h"];
		} else {
			my ($early, $late) = @$c;
			next if $used{$early}++ || $used{$late}++;
			delete $before{$early}{$late};
			push @torn, [$early, $late];
		}
	}
}

# A random order that keeps to %before.
my @order;
{
	my %done;
	my @todo = shuffle(sort keys %unit);
	while (@todo) {
		my @rest;
		my $progress = 0;
		for my $u (@todo) {
			if (grep { $unit{$_} && !$done{$_} } keys %{ $before{$u} // {} }) {
				push @rest, $u;
				next;
			}
			push @order, $u;
			$done{$u} = $progress = 1;
		}
		# A ring: whichever is first will not build.
		push @order, shift @rest and $done{ $order[-1] } = 1 if !$progress;
		@todo = @rest;
	}
}

# Put the late half of each torn pair a few commits behind the early one; whatever must
# come after the late half follows it.
for my $t (@torn) {
	my ($early, $late) = @$t;
	@order = grep { $_ ne $late } @order;
	my ($at) = grep { $order[$_] eq $early } 0 .. $#order;
	# Not at the very ends: both endpoints must build.
	if ($at > $#order - GAP_MAX - 3) {
		splice(@order, $at, 1);
		$at = $#order - GAP_MAX - 3 - chance(20);
		$at = 2 if $at < 2;
		$at = @order if $at > @order;
		splice(@order, $at, 0, $early);
	} elsif ($at < 2) {
		splice(@order, $at, 1);
		$at = 2 + chance(10);
		$at = @order if $at > @order;
		splice(@order, $at, 0, $early);
	}
	my $behind = $at + 1 + GAP_MIN + chance(GAP_MAX - GAP_MIN + 1);
	splice(@order, $behind < @order ? $behind : scalar @order, 0, $late);
	warn "torn: $early ... $late\n" if $ENV{DEMO_DEBUG};
}

# ---- commits ----

my @people = ('Anna Weber', 'Bo Lindqvist', 'Chiara Rossi', 'Dmitri Sokolov', 'Emeka Obi',
	      'Farid Haddad', 'Grace Liu', 'Hiroshi Mori', 'Ines Duarte', 'Jan Novak');

sub subsystem
{
	my ($path) = @_;
	return $1 if $path =~ m,^fs/(btrfs|ext4|jbd2|xfs|iomap|configfs|proc|sysfs)/,;
	return 'fs' if $path =~ m,^fs/,;
	return "x86/$1" if $path =~ m,^arch/x86/(\w+)/,;
	return $1 if $path =~ m,^drivers/(\w+),;
	return $1 if $path =~ m,^kernel/(\w+)/,;
	return $path =~ m,^([^/]+)/, ? $1 : 'build';
}

my @commit; # { what, paths, subject, body }
push @commit, { what => 'base', paths => [@base],
		subject => 'headers and build files of the next release',
		body => 'All that more than one subsystem depends on, and the sources that cannot be parted from it.' };
for my $u (@order) {
	my @paths = sort @{ $unit{$u} };
	my %sub = map { subsystem($_) => 1 } @paths;
	my $prefix = join(', ', sort keys %sub);
	my $names = join(', ', map { s,.*/,,r } @paths);
	$names = substr($names, 0, 50) . ', ...' if length $names > 56;
	push @commit, { what => 'piece', paths => \@paths, subject => "$prefix: update $names",
			body => 'As in the next release.' };
}

# Commits that leave the image alone, spread over the history.
use constant NR_SAME => 16;
{
	my %group;
	push @{ $group{ m,^(drivers/[^/]+|[^/]+)/, ? $1 : 'top' } }, $_ for @same;
	my @lists = map { $group{$_} } sort keys %group;
	while (@lists > NR_SAME) {
		@lists = sort { @$a <=> @$b || $a->[0] cmp $b->[0] } @lists;
		my $least = shift @lists;
		$lists[0] = [sort @{ $lists[0] }, @$least];
	}
	for my $paths (shuffle(sort { $a->[0] cmp $b->[0] } @lists)) {
		my %sub = map { subsystem($_) => 1 } @$paths;
		my @names = sort keys %sub;
		@names = (@names[0 .. 2], '...') if @names > 4;
		splice(@commit, 1 + chance(scalar @commit), 0,
		       { what => 'same', paths => $paths,
			 subject => join(', ', @names) . ': update ' . @$paths . ' files',
			 body => 'As in the next release. Not compiled with the configuration of the demo.' });
	}
}

# ---- the regression ----
#
# Each kind edits one file at a place that both releases have. A place that is not there, or
# there twice, is an error: a plant that does nothing would make the demo worthless.

sub replace_once
{
	my ($text, $old, $new) = @_;
	my $n = () = $text =~ /$old/g;
	die "planting: the place was found $n times instead of once: $old\n" unless $n == 1;
	# $1 and $2 stand for what the pattern kept.
	$text =~ s/$old/my ($a, $b) = ($1, $2); $new->($a, $b)/e;
	return $text;
}

my %plant = (
	# sync() then commits the journal once for each inode.
	'ext4-sync' => {
		path => 'fs/ext4/inode.c',
		subject => 'ext4: make ext4_write_inode() honour WB_SYNC_ALL',
		body => "The inode must be on disk when data integrity writeback returns, whoever\nasked for it. Drop the special case for sync.",
		edit => sub {
			replace_once($_[0], qr/if \(wbc->sync_mode != WB_SYNC_ALL \|\| wbc->for_sync\)/,
				     sub { 'if (wbc->sync_mode != WB_SYNC_ALL)' });
		},
	},
	# Each fsync commits the whole transaction instead of the log.
	'btrfs-fsync' => {
		path => 'fs/btrfs/file.c',
		subject => 'btrfs: commit the transaction when logging found nothing to do',
		body => "A log that was not extended may still be stale. Be on the safe side.",
		edit => sub {
			replace_once($_[0], qr/(btrfs_release_log_ctx_extents\(&ctx\);\n\tif \(ret) < 0(?=\) \{)/,
				     sub { "$_[0] <= 0" });
		},
	},
	# Every byte written is summed up once more.
	'write-cost' => {
		path => 'mm/filemap.c',
		subject => 'mm/filemap: detect sources that change while they are copied',
		body => "A source that is changed by another thread during a write ends up torn in\nthe page cache. Sum the page up, so that this can be seen.",
		edit => sub {
			my $text = replace_once($_[0],
				qr/(\t\tcopied = copy_page_from_iter_atomic\(page, offset, bytes, i\);\n)/,
				sub { "$_[0]\t\tif (unlikely(!write_sum(page, offset, copied)))\n\t\t\tcond_resched();\n" });
			replace_once($text, qr/^(ssize_t generic_perform_write\()/m,
				sub { "static noinline u32 write_sum(struct page *page, size_t offset, size_t bytes)\n{\n"
				    . "\tconst u8 *p = kmap_local_page(page) + offset;\n\tu32 sum = 1;\n\n"
				    . "\twhile (bytes--)\n\t\tsum = sum * 31 + *p++;\n\tkunmap_local(p - 1);\n"
				    . "\treturn sum;\n}\n\n$_[0]" });
		},
	},
	# A flush of the device after each FUA write, although the device honours FUA.
	'extra-flush' => {
		path => 'block/blk-flush.c',
		subject => 'block: always flush after a FUA write',
		body => "Some devices acknowledge FUA writes too early. Do not rely on it.",
		edit => sub {
			replace_once($_[0], qr/if \(!\(fflags & \(1UL << QUEUE_FLAG_FUA\)\) &&\s+\(rq->cmd_flags & REQ_FUA\)\)/,
				     sub { 'if (rq->cmd_flags & REQ_FUA)' });
		},
	},
	# A flush of its own for each fsync, although the commit has just sent one.
	'ext4-flush' => {
		path => 'fs/ext4/fsync.c',
		subject => 'ext4: issue the barrier in fsync whenever barriers are on',
		body => "Whether the commit sends one can change between the check and the commit.",
		edit => sub {
			replace_once($_[0], qr/(\n\t\tret = ext4_fsync_journal\(inode, datasync, &needs_barrier\);\s+if \()needs_barrier(?=\) \{)/,
				     sub { "$_[0]needs_barrier || test_opt(inode->i_sb, BARRIER)" });
		},
	},
);

my @kinds = sort keys %plant;
$kind = $kinds[$seed % @kinds] if $kind eq 'seed';
die "no such kind of regression: '$kind' (@kinds)\n" unless $kind eq 'none' || $plant{$kind};

my $plant = $plant{$kind};
if ($plant) {
	# Anywhere but near the ends; inside a range that does not build when 3 divides the seed,
	# else outside of them all.
	my $n = @commit;
	my $at = int($n / 6) + chance(int($n * 2 / 3));
	my %where;
	for my $i (0 .. $#commit) {
		$where{$_} = $i for @{ $commit[$i]{paths} };
	}
	my @gaps = sort { $a->[0] <=> $b->[0] } grep { $_->[1] > $_->[0] }
		map { [ map { $where{ $unit{$_}[0] } } @$_ ] } @torn;
	if (@gaps && $seed % 3 == 0) {
		my ($early, $late) = @{ $gaps[chance(scalar @gaps)] };
		$at = $early + 1 + chance($late - $early);
	} else {
		# A plant at index i comes just before the commit that has it now.
		for my $gap (@gaps) {
			$at = $gap->[1] + 1 if $at > $gap->[0] && $at <= $gap->[1];
		}
	}
	splice(@commit, $at, 0, { what => 'planted', paths => [$plant->{path}],
				  subject => $plant->{subject}, body => $plant->{body} });
}

# ---- writing ----

my $branch = "refs/heads/demo/$seed-$kind";
my $stream = '';
my $mark = 0;
my $planted = 0;
my $nr = 0;
my %done;
for my $c (@commit) {
	my $m = '';
	for my $path (@{ $c->{paths} }) {
		my $ch = $change{$path};
		if ($c->{what} eq 'planted') {
			$planted = 1;
			my ($mode, $oid) = $ch ? ($done{$path} ? ($ch->{mode}, $ch->{new}) : ('100644', $ch->{old}))
				: split / /, git('ls-tree', '--format=%(objectmode) %(objectname)', $from, '--', $path) =~ s/\n//r;
			my $text = $plant->{edit}->(contents($oid));
			$mark++;
			$stream .= "blob\nmark :$mark\ndata " . length($text) . "\n$text\n";
			$m .= "M $mode :$mark $path\n";
		} elsif ($ch->{mode} eq '000000') {
			$m .= "D $path\n";
		} elsif ($planted && $path eq $plant->{path}) {
			my $text = $plant->{edit}->(contents($ch->{new}));
			$mark++;
			$stream .= "blob\nmark :$mark\ndata " . length($text) . "\n$text\n";
			$m .= "M $ch->{mode} :$mark $path\n";
		} else {
			$m .= "M $ch->{mode} $ch->{new} $path\n";
		}
		$done{$path} = 1;
	}
	my $person = $people[chance(scalar @people)];
	my $mail = lc($person) =~ s/ /./r . '@kernel.invalid';
	my $who = "$person <$mail> " . (1700003600 + 3600 * $nr) . ' +0000';
	my $message = "$c->{subject}\n\n$c->{body}\n\nSigned-off-by: $person <$mail>\n";
	$c->{mark} = ++$mark;
	$stream .= "commit $branch\nmark :$mark\nauthor $who\ncommitter $who\ndata "
		. length($message) . "\n$message" . ($nr++ ? '' : "from $from\n") . "$m\n";
}
my @left = grep { !$done{$_} } keys %change;
die "files were forgotten: @left\n" if @left;

# git resolves it from the repository.
my $marks = File::Spec->rel2abs("$out_file.marks");
open(my $fi, '|-', 'git', '-C', $repo, 'fast-import', '--quiet', '--force', "--export-marks=$marks")
	or die "git fast-import: $!\n";
binmode $fi;
print $fi $stream, "done\n" or die "git fast-import: $!\n";
close($fi) or die "git fast-import failed\n";
open($in, '<', $marks) or die "$marks: $!\n";
my %oid = map { /^:(\d+) (\w+)/ ? ($1 => $2) : () } <$in>;
close $in;
unlink $marks;

# Nothing but the regression may be left of the difference to the next release.
my @rest = split /\n/, git('diff', '--name-only', $to, $branch);
my @want = $plant ? ($plant->{path}) : ();
die "the history does not end at the next release: @rest\n" unless "@rest" eq "@want";

open(my $out, '>', "$out_file.tmp") or die "$out_file: $!\n";
$nr = 0;
print $out join("\t", $nr++, $from, 'root', '', 'the older release'), "\n";
print $out join("\t", $nr++, $oid{ $_->{mark} }, $_->{what},
		@{ $_->{paths} } > 12 ? scalar(@{ $_->{paths} }) . ' files' : join(' ', @{ $_->{paths} }),
		$_->{subject}), "\n" for @commit;
close($out) or die "$out_file: $!\n";
rename("$out_file.tmp", $out_file) or die "$out_file: $!\n";

my %n;
$n{ $_->{what} }++ for @commit;
printf "%d commits: %d change what is compiled, %d leave the image alone, %d ranges were torn\n",
	scalar @commit, $n{piece} // 0, $n{same} // 0, scalar @torn;
