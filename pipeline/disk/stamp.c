/* The extension module pipeline.disk._stamp: stamps of all regular files in a folder.
 *
 * Every run stamps every file, and Python makes three objects and two calls for each. The reference
 * is `_stamped` in pipeline/disk/listing.py. Whatever is no regular file is left to it.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __APPLE__
#define MODIFIED(stat) (stat).st_mtimespec
#define CHANGED(stat) (stat).st_ctimespec
#else
#define MODIFIED(stat) (stat).st_mtim
#define CHANGED(stat) (stat).st_ctim
#endif

static long long nanoseconds(struct timespec time)
{
    return (long long)time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Add one entry to the stamps or to the names of others; returns 0 with an exception set. */
static int add_entry(int folder, const char *name, PyObject *stamps, PyObject *others)
{
    struct stat found;
    if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT) /* it was removed a moment ago; the rest is still listed */
            return 1;
        PyErr_SetFromErrno(PyExc_OSError);
        return 0;
    }
    PyObject *key = PyUnicode_DecodeFSDefault(name);
    if (key == NULL)
        return 0;
    int is_added;
    if (S_ISREG(found.st_mode)) {
        PyObject *stamp = Py_BuildValue(
            "(LLLK)", nanoseconds(MODIFIED(found)), nanoseconds(CHANGED(found)),
            (long long)found.st_size, (unsigned long long)found.st_ino);
        is_added = stamp != NULL && PyDict_SetItem(stamps, key, stamp) == 0;
        Py_XDECREF(stamp);
    } else {
        is_added = PySet_Add(others, key) == 0;
    }
    Py_DECREF(key);
    return is_added;
}

/* Read all entries of an open folder; returns 0 with an exception set. */
static int read_entries(DIR *entries, PyObject *stamps, PyObject *others)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(entries);
        if (entry == NULL && errno != 0) {
            PyErr_SetFromErrno(PyExc_OSError);
            return 0;
        }
        if (entry == NULL)
            return 1;
        if (!is_dots(entry->d_name) && !add_entry(dirfd(entries), entry->d_name, stamps, others))
            return 0;
    }
}

static PyObject *stamp_files(PyObject *module, PyObject *argument)
{
    (void)module;
    int handle = PyObject_AsFileDescriptor(argument);
    if (handle < 0)
        return NULL;
    /* A handle of our own, because closedir closes it. */
    int own = fcntl(handle, F_DUPFD_CLOEXEC, 0);
    DIR *entries = own < 0 ? NULL : fdopendir(own);
    if (entries == NULL) {
        PyErr_SetFromErrno(PyExc_OSError);
        if (own >= 0)
            close(own);
        return NULL;
    }
    PyObject *stamps = PyDict_New(), *others = PySet_New(NULL), *both = NULL;
    if (stamps != NULL && others != NULL && read_entries(entries, stamps, others))
        both = PyTuple_Pack(2, stamps, others);
    Py_XDECREF(stamps);
    Py_XDECREF(others);
    /* Both handles share one place in the folder: the caller may list it again. */
    rewinddir(entries);
    closedir(entries);
    return both;
}

static PyMethodDef METHODS[] = {
    {"stamp_files", stamp_files, METH_O,
     "Return the stamps of an open folder's regular files by name, and the names of all others."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot SLOTS[] = {{0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_stamp", "Stamps of files.", 0, METHODS, SLOTS, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__stamp(void)
{
    return PyModuleDef_Init(&MODULE);
}
