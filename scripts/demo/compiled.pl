#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# Walks the directories of a kernel tree as Kbuild does and prints the source files compiled.
#
# usage (in the tree): compiled.pl COMPILED_MK AUTO_CONF FILES
use strict;
use warnings;

my ($mk, $auto, $files) = @ARGV;
open(my $in, '<', $files) or die "$files: $!\n";
my %exists = map { chomp; $_ => 1 } <$in>;
open($in, '<', $auto) or die "$auto: $!\n";
my %config = map { /^(CONFIG_\w+)=/ ? ($1 => 1) : () } <$in>;

# The top of the tree (Makefile and Kbuild there): stable for the series that have it this way.
my @todo = (qw(init usr kernel mm fs ipc security crypto drivers sound lib certs virt),
	    qw(arch/x86 arch/x86/lib arch/x86/video));
push @todo, 'block' if $config{CONFIG_BLOCK};
push @todo, 'io_uring' if $config{CONFIG_IO_URING};
push @todo, 'net' if $config{CONFIG_NET};
push @todo, 'samples' if $config{CONFIG_SAMPLES};
push @todo, 'arch/x86/pci' if $config{CONFIG_PCI};
push @todo, 'arch/x86/power' if $config{CONFIG_PM};

my (%seen, %out);
while (defined(my $dir = shift @todo)) {
	next if $seen{$dir}++ || !(-e "$dir/Kbuild" || -e "$dir/Makefile");
	my $pid = open(my $make, '-|', 'make', '-rRs', '-f', $mk, "dir=$dir", "auto_conf=$auto")
		or die "make: $!\n";
	while (<$make>) {
		my ($what, $name) = /^([DO]) (\S+)$/ or next;
		$name = "$dir/$name";
		# "../x/y.o" is used in a few places.
		1 while $name =~ s,[^/]+/\.\./,,;
		if ($what eq 'D') {
			$name =~ s,/+$,,;
			push @todo, $name;
			next;
		}
		$name =~ s/\.o$//;
		for my $source ("$name.c", "$name.S") {
			$out{$source} = 1 if $exists{$source};
		}
	}
	close($make) or die "$dir: its Makefile could not be read\n";
}
print "$_\n" for sort keys %out;
