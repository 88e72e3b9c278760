/* Stamps of files as Python has them: (mtime_ns, ctime_ns, size, inode). */
#ifndef CARTWRIGHT_STAMP_H
#define CARTWRIGHT_STAMP_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <sys/stat.h>

#ifdef __APPLE__
#define MODIFIED(stat) (stat).st_mtimespec
#define CHANGED(stat) (stat).st_ctimespec
#else
#define MODIFIED(stat) (stat).st_mtim
#define CHANGED(stat) (stat).st_ctim
#endif

static inline long long nanoseconds(struct timespec time)
{
    return (long long)time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Make the stamp of a regular file; NULL with an exception. */
static inline PyObject *make_stamp(const struct stat *found)
{
    return Py_BuildValue("(LLLK)", nanoseconds(MODIFIED(*found)), nanoseconds(CHANGED(*found)),
                         (long long)found->st_size, (unsigned long long)found->st_ino);
}

#endif
