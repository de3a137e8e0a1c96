#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# A tar stream on stdin becomes one commit as a git fast-import stream on stdout.
#
# usage: import-tar.pl REF SUBJECT [PARENT]
#
# The first component of each path is dropped. Author and date are fixed, so that the same
# tarball has the same commit id everywhere. Nothing is unpacked to the disk, and the
# .gitignore of Debian's sources, which hides every file, does not matter here.
use strict;
use warnings;

$SIG{__DIE__} = sub { print STDERR $_[0]; exit 2 };
my ($ref, $subject, $parent) = @ARGV;
die "usage: import-tar.pl REF SUBJECT [PARENT]\n" unless defined $subject;
binmode STDIN;
binmode STDOUT;

my $who = 'firstbad demo <demo@firstbad.invalid> 1700000000 +0000';
print "commit $ref\nauthor $who\ncommitter $who\ndata ", length($subject) + 1, "\n$subject\n\n";
print "from $parent\n" if defined $parent;
print "deleteall\n";

sub read_exactly
{
	my ($len) = @_;
	my $buf = '';
	while (length($buf) < $len) {
		my $n = read(STDIN, $buf, $len - length($buf), length($buf));
		die "tar stream ended early\n" unless $n;
	}
	return $buf;
}

my ($long_name, $long_link, %pax);
my $files = 0;
while (1) {
	my $head = read_exactly(512);
	last if $head =~ /^\0*$/;
	my ($name, $mode, $size, $type, $link, $magic, $prefix) =
		(unpack('Z100 a8 x16 a12 x20 a1 Z100 a6 x82 Z155', $head))[0 .. 6];
	die "not a tar stream\n" unless $magic =~ /^ustar/;
	$mode = oct($mode =~ s/[\0 ]//gr);
	# Sizes of 8 GiB and more have another form: no source file is that large.
	die "'$name': odd size\n" unless $size =~ /^[0-7 \0]+$/;
	$size = oct($size =~ s/[\0 ]//gr);
	my $data = $size && $type =~ /[0\0LKxg]/ ? read_exactly(512 * int(($size + 511) / 512)) : '';
	$data = substr($data, 0, $size);
	if ($type eq 'L') { $long_name = $data =~ s/\0.*//sr; next }
	if ($type eq 'K') { $long_link = $data =~ s/\0.*//sr; next }
	next if $type eq 'g';
	if ($type eq 'x') {
		%pax = $data =~ /^\d+ (path|linkpath)=(.*)$/mg;
		next;
	}
	# In the GNU format the prefix field holds other things.
	$name = "$prefix/$name" if $magic eq "ustar\0" && length $prefix;
	$name = $pax{path} // $long_name // $name;
	$link = $pax{linkpath} // $long_link // $link;
	(undef, $long_name, $long_link, %pax) = ();
	next if $type eq '5';
	$name =~ s,^(\./)?[^/]+/,,;
	die "odd path '$name'\n" if $name eq '' || $name =~ /[\n"]/ || $name =~ m,(^|/)\.\.?(/|$),;
	if ($type eq '2') {
		print "M 120000 inline $name\ndata ", length($link), "\n$link\n";
	} elsif ($type eq '0' || $type eq "\0") {
		print 'M ', $mode & 0100 ? '100755' : '100644', " inline $name\ndata $size\n$data\n";
	} else {
		die "'$name': tar entry of type '$type'\n";
	}
	$files++;
}
die "empty tar stream\n" unless $files;
print "\n";
# The padding at the end: without reading it the writer would die of SIGPIPE.
1 while read(STDIN, my $rest, 65536);
