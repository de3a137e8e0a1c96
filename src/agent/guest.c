/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What only PID 1 of a guest does: file systems, modules, sysctls, seed, the device. */
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "src/agent/agent.h"

#define NULLB_DIR "/sys/kernel/config/nullb/nullb0"

static void mount_one(const char *type, const char *dir, const char *options)
{
	mkdir(dir, 0755);
	/* EBUSY: the kernel did it (CONFIG_DEVTMPFS_MOUNT). */
	if (mount(type, dir, type, MS_NOSUID, options) < 0 && errno != EBUSY)
		fprintf(stderr, "firstbad-agent: mount %s on %s: %s\n", type, dir, strerror(errno));
}

void fb_guest_mount_all(void)
{
	mount_one("proc", "/proc", NULL);
	mount_one("sysfs", "/sys", NULL);
	mount_one("devtmpfs", "/dev", NULL);
	mkdir("/tmp", 01777);
	/* Limits keep a workload that writes without end from eating the guest's memory. */
	mount_one("tmpfs", "/tmp", "size=25%");
	mkdir("/run", 0755);
	mount_one("tmpfs", "/run", "size=64m");
	mkdir("/run/out", 0755);
	mkdir("/mnt", 0755);
}

void fb_guest_load_modules(const json_t *job)
{
	const json_t *modules = json_object_get(job, "modules");
	size_t i;
	json_t *v;

	json_array_foreach(modules, i, v)
	{
		const char *text = json_string_value(v), *params = text ? strchr(text, ' ') : NULL;
		char path[256];
		int fd;

		/* "PATH PARAMETERS" */
		snprintf(path, sizeof(path), "%.*s", (int)(text ? strcspn(text, " ") : 0),
			 text ? text : "");
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || (syscall(SYS_finit_module, fd, params ? params + 1 : "", 0) < 0 &&
			       errno != EEXIST))
			fprintf(stderr, "firstbad-agent: module %s: %s\n", path, strerror(errno));
		if (fd >= 0)
			close(fd);
	}
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;
	int saved;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	saved = errno;
	close(fd);
	errno = saved;
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

static void sysctl_path(char *path, size_t size, const char *name, size_t len)
{
	snprintf(path, size, "/proc/sys/%.*s", (int)len, name);
	for (char *p = path + strlen("/proc/sys/"); *p; p++)
		if (*p == '.')
			*p = '/';
}

/* "NAME=VALUE" as it is now, in front of @was: what was set last is given back first. */
static bool remember(const char *name, size_t len, json_t *was)
{
	char path[256], value[256] = "";
	FILE *f;
	bool ok;

	sysctl_path(path, sizeof(path), name, len);
	f = fopen(path, "re");
	ok = f && fgets(value, sizeof(value), f);
	if (f)
		fclose(f);
	value[strcspn(value, "\n")] = '\0';
	if (!ok || !strcmp(value, "0"))
		return false;
	return json_array_insert_new(was, 0, json_sprintf("%.*s=%s", (int)len, name, value)) == 0;
}

/*
 * One of such a pair is 0, which says that the other counts, and cannot be written
 * (Documentation/admin-guide/sysctl/vm.rst).
 */
static void remember_sysctl(const char *name, size_t len, json_t *was)
{
	static const char *const pairs[][2] = {
		{"vm.dirty_bytes", "vm.dirty_ratio"},
		{"vm.dirty_background_bytes", "vm.dirty_background_ratio"},
	};

	if (remember(name, len, was))
		return;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		for (int k = 0; k < 2; k++)
			if (strlen(pairs[i][k]) == len && !strncmp(pairs[i][k], name, len))
				remember(pairs[i][!k], strlen(pairs[i][!k]), was);
}

int fb_guest_sysctls(const json_t *list, json_t *was, char *why, size_t size)
{
	size_t i;
	json_t *v;

	json_array_foreach(list, i, v)
	{
		const char *text = json_string_value(v), *eq = text ? strchr(text, '=') : NULL;
		char path[256];

		if (!eq) {
			snprintf(why, size, "sysctl without '='");
			return -1;
		}
		if (was)
			remember_sysctl(text, (size_t)(eq - text), was);
		sysctl_path(path, sizeof(path), text, (size_t)(eq - text));
		if (write_file(path, eq + 1) < 0) {
			snprintf(why, size, "sysctl %s: %s", text, strerror(errno));
			return -1;
		}
	}
	return 0;
}

/* Finalizer of SplitMix64: one well mixed value for each input (Steele, Lea, Flood 2014). */
static uint64_t mix64(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

void fb_guest_entropy(uint64_t seed)
{
	struct {
		struct rand_pool_info info;
		uint64_t words[8];
	} pool = {.info = {.entropy_count = 512, .buf_size = 64}};
	int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	for (size_t i = 0; i < 8; i++) {
		pool.words[i] = mix64(seed * 8 + i);
		if (write(fd, &pool.words[i], sizeof(pool.words[i])) < 0)
			break;
	}
	/* Credited, so that nothing waits for a pool that a silent guest never fills. */
	if (ioctl(fd, RNDADDENTROPY, &pool) < 0)
		fprintf(stderr, "firstbad-agent: RNDADDENTROPY: %s\n", strerror(errno));
	close(fd);
}

/*
 * Half of the delay sleeps (moves the timers' phase), half is spent busy (moves the
 * scheduler's): both shift when flushers, journal threads and the workload meet.
 */
void fb_guest_delay(uint64_t seed)
{
	uint64_t r = mix64(seed ^ 0x64656c6179ull);
	struct timespec sleep = {0, (long)(r % 5000000)};
	volatile uint64_t spin = (r >> 32) % 2500000 / 4;

	clock_nanosleep(CLOCK_MONOTONIC, 0, &sleep, NULL);
	while (spin)
		spin = spin - 1;
}

static int nullb_set(const char *name, unsigned long long value, char *why, size_t size)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), NULLB_DIR "/%s", name);
	snprintf(text, sizeof(text), "%llu", value);
	if (write_file(path, text) == 0)
		return 0;
	snprintf(why, size, "null_blk %s=%s: %s", name, text, strerror(errno));
	return -1;
}

/*
 * By configfs and not by module parameters: memory_backed is a parameter only since 6.0,
 * the size is in MiB instead of GiB, and a new device for each cell gives the memory of the
 * last one back.
 */
const char *fb_guest_new_disk(uint64_t size_b, char *why, size_t size)
{
	static const struct {
		const char *name;
		unsigned long long value;
	} set[] = {
		/* DESIGN.md 5.3; the write cache makes the file systems send flushes. */
		{"memory_backed", 1}, {"irqmode", 2},	    {"completion_nsec", 80000},
		{"queue_mode", 2},    {"submit_queues", 1}, {"hw_queue_depth", 64},
		{"cache_size", 64},   {"blocksize", 4096},
	};
	static char device[32];
	char index[16] = "0";
	struct stat st;
	FILE *f;

	mkdir("/sys/kernel/config", 0755);
	if (stat("/sys/kernel/config/nullb", &st) < 0 &&
	    mount("configfs", "/sys/kernel/config", "configfs", 0, NULL) < 0) {
		snprintf(why, size, "the kernel has no configfs (CONFIG_CONFIGFS_FS): %s",
			 strerror(errno));
		return NULL;
	}
	if (stat("/sys/kernel/config/nullb", &st) < 0) {
		snprintf(why, size, "the kernel has no null_blk (CONFIG_BLK_DEV_NULL_BLK)");
		return NULL;
	}
	if (stat(NULLB_DIR, &st) == 0 && rmdir(NULLB_DIR) < 0) {
		snprintf(why, size, "null_blk: remove the last device: %s", strerror(errno));
		return NULL;
	}
	if (mkdir(NULLB_DIR, 0755) < 0) {
		snprintf(why, size, "null_blk: %s", strerror(errno));
		return NULL;
	}
	for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++)
		if (nullb_set(set[i].name, set[i].value, why, size) < 0)
			return NULL;
	if (nullb_set("size", size_b >> 20, why, size) < 0 || nullb_set("power", 1, why, size) < 0)
		return NULL;
	/* Called by its item's name since 5.20, by its index before. */
	snprintf(device, sizeof(device), "/dev/nullb0");
	f = fopen(NULLB_DIR "/index", "re");
	if (f) {
		if (fscanf(f, "%15[0-9]", index) == 1) {
			snprintf(device, sizeof(device), "/dev/nullb%s", index);
			if (stat(device, &st) < 0)
				snprintf(device, sizeof(device), "/dev/nullb0");
		}
		fclose(f);
	}
	return device;
}
