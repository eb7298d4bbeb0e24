/* The last points at which a routine was called: exact bytes of the inputs, copies of the outputs. */

#include "memo.h"

#include <pthread.h>

typedef struct {
  char *bytes; /* the inputs and then the outputs; NULL where nothing is remembered */
} Entry;

struct Memo {
  PyObject_HEAD
  pthread_mutex_t mutex;
  Py_ssize_t size, next;
  Entry *entries;
};

static int is_at(const Entry *entry, const Piece *inputs, Py_ssize_t count) {
  const char *bytes = entry->bytes;
  if (bytes == NULL) return 0;
  for (Py_ssize_t k = 0; k < count; bytes += inputs[k++].size)
    if (memcmp(bytes, inputs[k].data, inputs[k].size) != 0) return 0;
  return 1;
}

static size_t input_size(const Piece *inputs, Py_ssize_t count) {
  size_t size = 0;
  for (Py_ssize_t k = 0; k < count; k++) size += inputs[k].size;
  return size;
}

int memo_find(Memo *memo, const Piece *inputs, Py_ssize_t input_count, char *const *outputs,
              const int64_t *output_sizes, Py_ssize_t output_count) {
  int found = 0;
  pthread_mutex_lock(&memo->mutex);
  for (Py_ssize_t e = 0; !found && e < memo->size; e++) {
    if (!is_at(&memo->entries[e], inputs, input_count)) continue;
    const char *bytes = memo->entries[e].bytes + input_size(inputs, input_count);
    for (Py_ssize_t k = 0; k < output_count; bytes += output_sizes[k++])
      memcpy(outputs[k], bytes, (size_t)output_sizes[k]);
    found = 1;
  }
  pthread_mutex_unlock(&memo->mutex);
  return found;
}

void memo_keep(Memo *memo, const Piece *inputs, Py_ssize_t input_count, char *const *outputs,
               const int64_t *output_sizes, Py_ssize_t output_count) {
  if (memo->size == 0) return;
  pthread_mutex_lock(&memo->mutex);
  Entry *entry = &memo->entries[memo->next];
  memo->next = (memo->next + 1) % memo->size;
  if (entry->bytes == NULL) {
    /* A memo serves one plan, all of whose points are of one size. */
    size_t size = input_size(inputs, input_count);
    for (Py_ssize_t k = 0; k < output_count; k++) size += (size_t)output_sizes[k];
    entry->bytes = malloc(size ? size : 1);
  }
  char *bytes = entry->bytes;
  for (Py_ssize_t k = 0; bytes != NULL && k < input_count; bytes += inputs[k++].size)
    memcpy(bytes, inputs[k].data, inputs[k].size);
  for (Py_ssize_t k = 0; bytes != NULL && k < output_count; bytes += output_sizes[k++])
    memcpy(bytes, outputs[k], (size_t)output_sizes[k]);
  pthread_mutex_unlock(&memo->mutex);
}

/* ---- the type ---- */

static PyObject *memo_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  Py_ssize_t size;
  if (!PyArg_ParseTuple(args, "n", &size)) return NULL;
  Memo *self = (Memo *)type->tp_alloc(type, 0);
  if (self == NULL) return NULL;
  pthread_mutex_init(&self->mutex, NULL);
  self->size = size > 0 ? size : 0;
  self->entries = calloc((size_t)self->size + 1, sizeof(Entry));
  if (self->entries != NULL) return (PyObject *)self;
  self->size = 0;
  Py_DECREF(self);
  return PyErr_NoMemory();
}

static PyObject *memo_clear(PyObject *object, PyObject *unused) {
  Memo *self = (Memo *)object;
  pthread_mutex_lock(&self->mutex);
  for (Py_ssize_t e = 0; e < self->size; e++) {
    free(self->entries[e].bytes);
    self->entries[e].bytes = NULL;
  }
  pthread_mutex_unlock(&self->mutex);
  Py_RETURN_NONE;
}

static void memo_free(PyObject *object) {
  Memo *self = (Memo *)object;
  for (Py_ssize_t e = 0; e < self->size; e++) free(self->entries[e].bytes);
  free(self->entries);
  pthread_mutex_destroy(&self->mutex);
  Py_TYPE(object)->tp_free(object);
}

static PyMethodDef memo_methods[] = {{"clear", memo_clear, METH_NOARGS, "Forgets everything."},
                                     {NULL, NULL, 0, NULL}};

PyTypeObject memo_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "couplax.foreign._native_calls.Memo",
    .tp_doc = "Memo(size): the last points at which programs called a routine.",
    .tp_basicsize = sizeof(Memo),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = memo_new,
    .tp_dealloc = memo_free,
    .tp_methods = memo_methods,
};

int add_memo(PyObject *module) { return PyModule_AddType(module, &memo_type); }
