/* The extension module pipeline.disk._batch: many files of one folder, each written, then renamed.
 *
 * In Python a small file costs more in calls and paths than the system takes for writing it. Here a
 * whole batch takes one call, without the global lock, so that several threads write side by side.
 * The reference is `_write_files` in pipeline/disk/batch.py.
 */
#include "stamp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

typedef struct {
    PyObject *encoded; /* owns `name` */
    const char *name;
    Py_buffer data;
    struct stat found;
} File;

static int write_data(int handle, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(handle, data, size);
        if (written < 0 && errno != EINTR)
            return errno;
        if (written > 0) {
            data += written;
            size -= (size_t)written;
        }
    }
    return 0;
}

/* Write a new file and stamp it. Where there is a temporary name it is made with that, and renamed.
 * Returns 0 or an error number. */
static int write_file(int scratch, const char *temporary, int folder, File *file)
{
    int is_direct = *temporary == 0;
    int place = is_direct ? folder : scratch;
    const char *name = is_direct ? file->name : temporary;
    int handle = openat(place, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (handle < 0)
        return errno;
    int error = write_data(handle, file->data.buf, (size_t)file->data.len);
    int has_name = is_direct;
    if (error == 0 && !is_direct) {
        has_name = renameat(scratch, temporary, folder, file->name) == 0;
        error = has_name ? 0 : errno;
    }
    /* Only now, because renaming changes the stamp. */
    if (error == 0 && fstat(handle, &file->found) < 0)
        error = errno;
    if (close(handle) < 0 && error == 0)
        error = errno;
    if (!has_name || (is_direct && error != 0))
        unlinkat(place, name, 0);
    return error;
}

/* Take the names and the bytes of all files; returns how many, which is less with an exception. */
static Py_ssize_t take_files(PyObject *names, PyObject *contents, File *files, Py_ssize_t count)
{
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *name = PyList_GetItem(names, at), *content = PyList_GetItem(contents, at);
        if (name == NULL || content == NULL || !PyUnicode_FSConverter(name, &files[at].encoded))
            return at;
        files[at].name = PyBytes_AsString(files[at].encoded);
        if (files[at].name == NULL ||
            PyObject_GetBuffer(content, &files[at].data, PyBUF_SIMPLE) < 0) {
            Py_DECREF(files[at].encoded);
            return at;
        }
    }
    return count;
}

static PyObject *stamps_of(const File *files, Py_ssize_t count)
{
    PyObject *stamps = PyList_New(count);
    for (Py_ssize_t at = 0; stamps != NULL && at < count; at++) {
        PyObject *stamp = make_stamp(&files[at].found);
        if (stamp == NULL || PyList_SetItem(stamps, at, stamp) < 0)
            Py_CLEAR(stamps);
    }
    return stamps;
}

/* Write all files; NULL with an exception that names the one that could not be written. */
static PyObject *write_taken(int scratch, const char *temporary, int folder, File *files,
                             Py_ssize_t count)
{
    int error = 0;
    Py_ssize_t done = 0;
    Py_BEGIN_ALLOW_THREADS
    while (done < count && error == 0) {
        error = write_file(scratch, temporary, folder, &files[done]);
        done++;
    }
    Py_END_ALLOW_THREADS
    if (error == 0)
        return stamps_of(files, count);
    errno = error;
    return PyErr_SetFromErrnoWithFilename(PyExc_OSError, files[done - 1].name);
}

static PyObject *write_files(PyObject *module, PyObject *arguments)
{
    (void)module;
    int scratch, folder;
    const char *temporary;
    PyObject *names, *contents, *stamps = NULL;
    if (!PyArg_ParseTuple(arguments, "isiO!O!", &scratch, &temporary, &folder, &PyList_Type, &names,
                          &PyList_Type, &contents))
        return NULL;
    Py_ssize_t count = PyList_Size(names);
    if (PyList_Size(contents) != count) {
        PyErr_SetString(PyExc_ValueError, "as many names as contents are needed");
        return NULL;
    }
    File *files = PyMem_Calloc(count > 0 ? (size_t)count : 1, sizeof(File));
    if (files == NULL)
        return PyErr_NoMemory();
    Py_ssize_t taken = take_files(names, contents, files, count);
    if (taken == count)
        stamps = write_taken(scratch, temporary, folder, files, count);
    for (Py_ssize_t at = 0; at < taken; at++) {
        PyBuffer_Release(&files[at].data);
        Py_DECREF(files[at].encoded);
    }
    PyMem_Free(files);
    return stamps;
}

static PyMethodDef METHODS[] = {
    {"write_files", write_files, METH_VARARGS,
     "Write files into an open folder, each by rename out of another, or with no temporary name "
     "directly; return their stamps."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot SLOTS[] = {{0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_batch", "Many files at once.", 0, METHODS, SLOTS, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__batch(void)
{
    return PyModuleDef_Init(&MODULE);
}
