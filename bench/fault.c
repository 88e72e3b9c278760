/* Lets one call of the C library on the files of a folder fail; loaded with LD_PRELOAD.
 *
 * Python's own calls and those of SQLite both go through here. fault_arm() says which call fails,
 * with which error and from which one on; each failure is a line in the log that it is given.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char armed[16], folder[PATH_MAX];
static size_t folder_length;
static int error_code, is_lasting, log_file = -1;
static long remaining;

void fault_arm(const char *call, int code, long at, int lasting, const char *below, int log)
{
    snprintf(armed, sizeof armed, "%s", call);
    snprintf(folder, sizeof folder, "%s", below);
    folder_length = strlen(folder);
    error_code = code;
    is_lasting = lasting;
    log_file = log;
    remaining = at;
}

/* What doit and Python read themselves, before anything of ours runs. */
static int is_of_doit(const char *path)
{
    return strstr(path, "doit.cfg") != NULL || strstr(path, "dodo") != NULL ||
           strstr(path, "__pycache__") != NULL;
}

static int fails(const char *call, const char *path)
{
    char line[PATH_MAX + 64];
    int length;
    if (is_of_doit(path))
        return 0;
    if (remaining == 0 && !is_lasting)
        return 0;
    if (remaining > 0 && --remaining > 0)
        return 0;
    length = snprintf(line, sizeof line, "%s %d %s\n", call, error_code, path);
    syscall(SYS_write, log_file, line, (size_t)length);
    errno = error_code;
    return 1;
}

static int is_armed(const char *call) { return log_file >= 0 && strcmp(armed, call) == 0; }

static int is_below(const char *path)
{
    return strncmp(path, folder, folder_length) == 0 && path[folder_length] == '/';
}

static int file_fails(const char *call, int file)
{
    char link[64], path[PATH_MAX];
    struct stat found;
    ssize_t length;
    if (!is_armed(call) || file == log_file)
        return 0;
    if (fstat(file, &found) != 0 || !(S_ISREG(found.st_mode) || S_ISDIR(found.st_mode)))
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    length = readlink(link, path, sizeof path - 1);
    if (length <= 0)
        return 0;
    path[length] = 0;
    return is_below(path) && fails(call, path);
}

static int path_fails(const char *call, int base, const char *path)
{
    char link[64], found[PATH_MAX];
    ssize_t length;
    if (!is_armed(call) || path == NULL)
        return 0;
    if (path[0] == '/')
        return is_below(path) && fails(call, path);
    if (base == AT_FDCWD)
        return fails(call, path);
    snprintf(link, sizeof link, "/proc/self/fd/%d", base);
    length = readlink(link, found, sizeof found - 1);
    if (length <= 0)
        return 0;
    found[length] = 0;
    return (strcmp(found, folder) == 0 || is_below(found)) && fails(call, path);
}

#define REAL(name) \
    static __typeof__(name) *real; \
    if (real == NULL) \
        real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define ON_FILE(call, type, name, parameters, ...) \
    type name parameters \
    { \
        REAL(name); \
        return file_fails(call, file) ? -1 : real(__VA_ARGS__); \
    }

ON_FILE("write", ssize_t, write, (int file, const void *data, size_t size), file, data, size)
ON_FILE("write", ssize_t, pwrite, (int file, const void *data, size_t size, off_t at), file, data, size, at)
ON_FILE("write", ssize_t, pwrite64, (int file, const void *data, size_t size, off64_t at), file, data, size, at)
ON_FILE("write", ssize_t, writev, (int file, const struct iovec *parts, int count), file, parts, count)
ON_FILE("read", ssize_t, read, (int file, void *data, size_t size), file, data, size)
ON_FILE("read", ssize_t, pread, (int file, void *data, size_t size, off_t at), file, data, size, at)
ON_FILE("read", ssize_t, pread64, (int file, void *data, size_t size, off64_t at), file, data, size, at)
ON_FILE("fsync", int, fsync, (int file), file)
ON_FILE("fsync", int, fdatasync, (int file), file)

#define ON_PATH(call, name, base, path, parameters, ...) \
    int name parameters \
    { \
        REAL(name); \
        return path_fails(call, base, path) ? -1 : real(__VA_ARGS__); \
    }

ON_PATH("rename", rename, AT_FDCWD, to, (const char *from, const char *to), from, to)
ON_PATH("rename", renameat, there, to, (int here, const char *from, int there, const char *to), here, from, there, to)
ON_PATH("rename", renameat2, there, to, (int here, const char *from, int there, const char *to, unsigned flags), here, from, there, to, flags)
ON_PATH("unlink", unlink, AT_FDCWD, path, (const char *path), path)
ON_PATH("unlink", unlinkat, base, path, (int base, const char *path, int flags), base, path, flags)
ON_PATH("mkdir", mkdir, AT_FDCWD, path, (const char *path, mode_t mode), path, mode)

/* The mode is read whether or not it was given: the call then does not look at it. */
#define ON_OPEN(name, base, parameters, ...) \
    int name parameters \
    { \
        va_list more; \
        mode_t mode; \
        REAL(name); \
        va_start(more, flags); \
        mode = va_arg(more, mode_t); \
        va_end(more); \
        return path_fails("open", base, path) ? -1 : real(__VA_ARGS__); \
    }

ON_OPEN(open, AT_FDCWD, (const char *path, int flags, ...), path, flags, mode)
ON_OPEN(open64, AT_FDCWD, (const char *path, int flags, ...), path, flags, mode)
ON_OPEN(openat, base, (int base, const char *path, int flags, ...), base, path, flags, mode)
ON_OPEN(openat64, base, (int base, const char *path, int flags, ...), base, path, flags, mode)
