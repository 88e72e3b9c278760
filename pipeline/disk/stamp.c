/* The extension module pipeline.disk._stamp: stamps of all regular files in a folder.
 *
 * Every run stamps every file, and Python makes three objects and two calls for each. The reference
 * is `_stamped` in pipeline/disk/listing.py. Whatever is no regular file is left to it.
 *
 * A run with nothing to do wants only to know whether a listing is that of the last run. For it
 * `pack_files` writes what `pack_listing` does (marshal, version 0), without an object for a file.
 */
#include "stamp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
        PyObject *stamp = make_stamp(&found);
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

/* An own handle for an open folder, because closedir closes it; NULL with an exception set. */
static DIR *open_again(PyObject *argument)
{
    int handle = PyObject_AsFileDescriptor(argument);
    if (handle < 0)
        return NULL;
    int own = fcntl(handle, F_DUPFD_CLOEXEC, 0);
    DIR *entries = own < 0 ? NULL : fdopendir(own);
    if (entries == NULL) {
        PyErr_SetFromErrno(PyExc_OSError);
        if (own >= 0)
            close(own);
    }
    return entries;
}

/* Both handles share one place in the folder: the caller may list it again. */
static void close_again(DIR *entries)
{
    rewinddir(entries);
    closedir(entries);
}

static PyObject *stamp_files(PyObject *module, PyObject *argument)
{
    (void)module;
    DIR *entries = open_again(argument);
    if (entries == NULL)
        return NULL;
    PyObject *stamps = PyDict_New(), *others = PySet_New(NULL), *both = NULL;
    if (stamps != NULL && others != NULL && read_entries(entries, stamps, others))
        both = PyTuple_Pack(2, stamps, others);
    Py_XDECREF(stamps);
    Py_XDECREF(others);
    close_again(entries);
    return both;
}

typedef struct {
    char *name;
    long long modified, changed, size;
    unsigned long long inode;
} File;

typedef struct {
    File *files;
    size_t count, room, name_bytes;
} Files;

enum { FAILED = -1, OTHER = 0, ADDED = 1 };

/* Add a plain file. OTHER is for what only Python lists, FAILED comes with an exception. */
static int add_file(Files *files, int folder, const char *name)
{
    struct stat found;
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at >= 0x80) /* names are sorted as bytes here, as text in Python */
            return OTHER;
    if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT) /* it was removed a moment ago; the rest is still listed */
            return ADDED;
        PyErr_SetFromErrno(PyExc_OSError);
        return FAILED;
    }
    if (!S_ISREG(found.st_mode))
        return OTHER;
    if (files->count == files->room) {
        size_t room = files->room ? 2 * files->room : 64;
        File *grown = PyMem_Realloc(files->files, room * sizeof(File));
        if (grown == NULL) {
            PyErr_NoMemory();
            return FAILED;
        }
        files->files = grown;
        files->room = room;
    }
    size_t bytes = strlen(name) + 1;
    char *copy = PyMem_Malloc(bytes);
    if (copy == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    memcpy(copy, name, bytes);
    files->files[files->count++] =
        (File){copy, nanoseconds(MODIFIED(found)), nanoseconds(CHANGED(found)),
               (long long)found.st_size, (unsigned long long)found.st_ino};
    files->name_bytes += bytes - 1;
    return ADDED;
}

static int add_files(Files *files, DIR *entries)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(entries);
        if (entry == NULL && errno != 0) {
            PyErr_SetFromErrno(PyExc_OSError);
            return FAILED;
        }
        if (entry == NULL)
            return ADDED;
        if (is_dots(entry->d_name))
            continue;
        int result = add_file(files, dirfd(entries), entry->d_name);
        if (result != ADDED)
            return result;
    }
}

static int by_name(const void *one, const void *other)
{
    return strcmp(((const File *)one)->name, ((const File *)other)->name);
}

static unsigned char *put_32(unsigned char *out, uint32_t value)
{
    for (int shift = 0; shift < 32; shift += 8)
        *out++ = (unsigned char)(value >> shift);
    return out;
}

/* Write a number as marshal does: 32 bits where they suffice, else digits of 15 bits. */
static unsigned char *put_number(unsigned char *out, int is_negative, unsigned long long size)
{
    if (size <= (unsigned long long)INT32_MAX + (is_negative ? 1 : 0)) {
        *out++ = 'i';
        return put_32(out, is_negative ? (uint32_t)0 - (uint32_t)size : (uint32_t)size);
    }
    int digits = 0;
    for (unsigned long long rest = size; rest; rest >>= 15)
        digits++;
    *out++ = 'l';
    out = put_32(out, is_negative ? (uint32_t)0 - (uint32_t)digits : (uint32_t)digits);
    for (; size; size >>= 15) {
        *out++ = (unsigned char)(size & 0xFF);
        *out++ = (unsigned char)(size >> 8 & 0x7F);
    }
    return out;
}

static unsigned char *put_signed(unsigned char *out, long long value)
{
    unsigned long long size = (unsigned long long)value;
    return put_number(out, value < 0, value < 0 ? 0 - size : size);
}

/* The most that one file takes: a text's head, a tuple's head, four numbers of five digits. */
enum { HEAD_BYTES = 15, FILE_BYTES = 5 + 5 + 4 * 15 };

static PyObject *packed(Files *files)
{
    if (files->count > INT32_MAX / FILE_BYTES || files->name_bytes > INT32_MAX / 2)
        Py_RETURN_NONE;
    size_t room = HEAD_BYTES + files->count * FILE_BYTES + files->name_bytes;
    unsigned char *start = PyMem_Malloc(room), *out = start;
    if (start == NULL)
        return PyErr_NoMemory();
    if (files->count)
        qsort(files->files, files->count, sizeof(File), by_name);
    *out++ = '(';
    out = put_32(out, 2);
    *out++ = '[';
    out = put_32(out, (uint32_t)files->count);
    for (size_t at = 0; at < files->count; at++) {
        size_t bytes = strlen(files->files[at].name);
        *out++ = 'u';
        out = put_32(out, (uint32_t)bytes);
        memcpy(out, files->files[at].name, bytes);
        out += bytes;
    }
    *out++ = '[';
    out = put_32(out, (uint32_t)files->count);
    for (size_t at = 0; at < files->count; at++) {
        const File *file = &files->files[at];
        *out++ = '(';
        out = put_32(out, 4);
        out = put_signed(out, file->modified);
        out = put_signed(out, file->changed);
        out = put_signed(out, file->size);
        out = put_number(out, 0, file->inode);
    }
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)start, out - start);
    PyMem_Free(start);
    return bytes;
}

static PyObject *pack_files(PyObject *module, PyObject *argument)
{
    (void)module;
    DIR *entries = open_again(argument);
    if (entries == NULL)
        return NULL;
    Files files = {NULL, 0, 0, 0};
    PyObject *result = NULL;
    switch (add_files(&files, entries)) {
    case ADDED:
        result = packed(&files);
        break;
    case OTHER:
        result = Py_NewRef(Py_None);
    }
    for (size_t at = 0; at < files.count; at++)
        PyMem_Free(files.files[at].name);
    PyMem_Free(files.files);
    close_again(entries);
    return result;
}

static PyMethodDef METHODS[] = {
    {"stamp_files", stamp_files, METH_O,
     "Return the stamps of an open folder's regular files by name, and the names of all others."},
    {"pack_files", pack_files, METH_O,
     "Return the packed listing of an open folder; None where not all is plain files."},
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
