/* A Python callable as a target of compiled programs.

   It is called with one argument per input: a numpy scalar for shape (), else a read-only array over XLA's
   own memory, valid during the call alone. It returns a sequence of one value per output, copied into XLA's
   memory. */

#include "native.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

typedef struct {
  PyObject_HEAD
  PyObject *callable;
  PyObject *inputs;  /* a tuple of numpy dtypes */
  PyObject *outputs; /* the same */
  PyObject *report;  /* exception -> the text of XLA's error; keeps the exception for couplax to raise again */
  PyObject *kept;    /* () -> the exception for an array that the callable kept */
  PyObject *weak_references;
  int64_t index;
} Callback;

/* ---- arguments ---- */

static PyObject *array_over(PyArray_Descr *dtype, const XLA_FFI_Buffer *buffer, int flags) {
  Py_INCREF(dtype);
  return PyArray_NewFromDescr(&PyArray_Type, dtype, (int)buffer->rank, (const npy_intp *)buffer->dims, NULL,
                              buffer->data, flags, NULL);
}

static PyObject *argument(PyArray_Descr *dtype, const XLA_FFI_Buffer *buffer) {
  if (buffer->rank > 0) return array_over(dtype, buffer, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED);
  if (dtype->type_num != NPY_DOUBLE) return PyArray_Scalar(buffer->data, dtype, NULL);
  PyObject *scalar = PyArrayScalar_New(Double);
  if (scalar != NULL) PyArrayScalar_ASSIGN(scalar, Double, *(const double *)buffer->data);
  return scalar;
}

/* ---- results ---- */

static int is_as_declared(PyArrayObject *array, PyArray_Descr *dtype, const XLA_FFI_Buffer *buffer) {
  if (PyArray_NDIM(array) != buffer->rank ||
      !PyArray_CompareLists(PyArray_DIMS(array), (const npy_intp *)buffer->dims, (int)buffer->rank)) {
    PyErr_Format(PyExc_ValueError, "a foreign call returned a shape that is not the declared one");
    return 0;
  }
  if (!PyArray_CanCastArrayTo(array, dtype, NPY_SAME_KIND_CASTING)) {
    PyErr_Format(PyExc_TypeError, "a foreign call returned %S, and declares %S", PyArray_DESCR(array), dtype);
    return 0;
  }
  return 1;
}

static int copy_out(PyArrayObject *array, PyArray_Descr *dtype, const XLA_FFI_Buffer *buffer) {
  if (!is_as_declared(array, dtype, buffer)) return -1;
  if (PyArray_SIZE(array) == 0) return 0;
  if (PyArray_DESCR(array) == dtype && PyArray_IS_C_CONTIGUOUS(array)) {
    memcpy(buffer->data, PyArray_DATA(array), PyArray_NBYTES(array));
    return 0;
  }
  PyObject *target = array_over(dtype, buffer, NPY_ARRAY_CARRAY);
  if (target == NULL) return -1;
  int status = PyArray_CopyInto((PyArrayObject *)target, array);
  Py_DECREF(target);
  return status;
}

static int write_result(PyObject *value, PyArray_Descr *dtype, const XLA_FFI_Buffer *buffer) {
  if (buffer->rank == 0 && dtype->type_num == NPY_DOUBLE && PyFloat_Check(value)) {
    *(double *)buffer->data = PyFloat_AS_DOUBLE(value);
    return 0;
  }
  PyObject *array = PyArray_FROM_O(value);
  if (array == NULL) return -1;
  int status = copy_out((PyArrayObject *)array, dtype, buffer);
  Py_DECREF(array);
  return status;
}

static int write_results(const Callback *self, PyObject *result, const XLA_FFI_Rets *rets) {
  PyObject *values = PySequence_Fast(result, "a foreign call returned no sequence");
  if (values == NULL) return -1;
  int status = 0;
  if (PySequence_Fast_GET_SIZE(values) != rets->size) {
    PyErr_Format(PyExc_ValueError, "a foreign call returned %zd values instead of %zd",
                 PySequence_Fast_GET_SIZE(values), (Py_ssize_t)rets->size);
    status = -1;
  }
  for (Py_ssize_t k = 0; status == 0 && k < rets->size; k++)
    status = write_result(PySequence_Fast_GET_ITEM(values, k),
                          (PyArray_Descr *)PyTuple_GET_ITEM(self->outputs, k), rets->rets[k]);
  Py_DECREF(values);
  return status;
}

/* ---- arrays that outlive the call ---- */

static int somebody_holds(PyObject *const *arguments, Py_ssize_t count) {
  for (Py_ssize_t k = 0; k < count; k++)
    if (PyArray_Check(arguments[k]) && Py_REFCNT(arguments[k]) > 1) return 1;
  return 0;
}

/* Gives an array that is still held memory of its own, so that whoever holds it reads no freed memory. */
static int detach(PyObject *array) {
  if (PyArray_BASE((PyArrayObject *)array) != NULL) return 0; /* done already */
  PyObject *copy = PyArray_NewCopy((PyArrayObject *)array, NPY_CORDER);
  if (copy == NULL) return -1;
  ((PyArrayObject_fields *)array)->data = PyArray_DATA((PyArrayObject *)copy);
  return PyArray_SetBaseObject((PyArrayObject *)array, copy);
}

static int detach_held(PyObject *const *arguments, Py_ssize_t count) {
  for (Py_ssize_t k = 0; k < count; k++)
    if (PyArray_Check(arguments[k]) && Py_REFCNT(arguments[k]) > 1 && detach(arguments[k]) < 0) return -1;
  return 0;
}

/* Returns -1 with an error set where the callable kept an array. A cycle of the callable's own garbage may
   hold one too: it is collected first. */
static int check_nothing_kept(const Callback *self, PyObject *const *arguments, Py_ssize_t count) {
  if (!somebody_holds(arguments, count)) return 0;
  PyGC_Collect();
  if (!somebody_holds(arguments, count)) return 0;
  if (detach_held(arguments, count) < 0) return -1;
  PyObject *exception = PyObject_CallNoArgs(self->kept);
  if (exception != NULL) PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
  Py_XDECREF(exception);
  return -1;
}

/* ---- the call ---- */

static PyObject *raised(void) {
#if PY_VERSION_HEX >= 0x030c0000
  return PyErr_GetRaisedException();
#else
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != NULL) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
#endif
}

static XLA_FFI_Error *reported(const Callback *self, const XLA_FFI_CallFrame *frame) {
  PyObject *exception = raised();
  PyObject *text = PyObject_CallOneArg(self->report, exception);
  const char *message = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
  if (message == NULL) PyErr_WriteUnraisable(self->report);
  XLA_FFI_Error *error = xla_error(frame, message ? message : "a foreign call failed, and so did its report");
  /* The interrupt goes on as an error of XLA's; asked for again, it is an interrupt once the program is left.
     Nothing of Python may run before that. */
  int interrupted = PyErr_GivenExceptionMatches(exception, PyExc_KeyboardInterrupt);
  Py_XDECREF(text);
  Py_XDECREF(exception);
  if (interrupted) PyErr_SetInterrupt();
  return error;
}

static int call_with(const Callback *self, PyObject *const *arguments, const XLA_FFI_CallFrame *frame) {
  PyObject *result = PyObject_Vectorcall(self->callable, arguments, (size_t)frame->args.size, NULL);
  if (result == NULL) return -1;
  int status = write_results(self, result, &frame->rets);
  Py_DECREF(result);
  return status == 0 ? check_nothing_kept(self, arguments, (Py_ssize_t)frame->args.size) : -1;
}

static XLA_FFI_Error *call(const Callback *self, const XLA_FFI_CallFrame *frame) {
  Py_ssize_t count = (Py_ssize_t)frame->args.size, made = 0;
  PyObject *few[8], **arguments = count <= 8 ? few : PyMem_Malloc((size_t)count * sizeof(PyObject *));
  int status = arguments != NULL ? 0 : -1;
  for (; status == 0 && made < count; made++) {
    arguments[made] = argument((PyArray_Descr *)PyTuple_GET_ITEM(self->inputs, made), frame->args.args[made]);
    if (arguments[made] == NULL) {
      status = -1;
      break;
    }
  }
  if (status == 0) status = call_with(self, arguments, frame);
  XLA_FFI_Error *error = status == 0 ? NULL : reported(self, frame);
  /* The frames of a traceback hold arguments. */
  if (error != NULL && detach_held(arguments, made) < 0) PyErr_WriteUnraisable(self->callable);
  while (made > 0) Py_DECREF(arguments[--made]);
  if (arguments != few) PyMem_Free(arguments);
  return error;
}

static XLA_FFI_Error *handle(XLA_FFI_CallFrame *frame) {
  if (answered_metadata(frame)) return NULL;
  PyGILState_STATE state;
  if (!enter_python(&state)) return xla_error(frame, "Python is exiting: a foreign call was not made");
  Callback *self = table_find(frame);
  XLA_FFI_Error *error;
  if (self == NULL) {
    error = xla_error(frame, "this program was compiled by another process, whose foreign code is not here");
  } else if (PyTuple_GET_SIZE(self->inputs) != frame->args.size ||
             PyTuple_GET_SIZE(self->outputs) != frame->rets.size) {
    error = xla_error(frame, "a foreign call was compiled for another number of arrays");
  } else {
    Py_INCREF(self);
    error = call(self, frame);
    Py_DECREF(self);
  }
  leave_python(state);
  return error;
}

/* ---- the type ---- */

static PyObject *callback_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  PyObject *callable, *inputs, *outputs, *report, *kept;
  if (!PyArg_ParseTuple(args, "OO!O!OO", &callable, &PyTuple_Type, &inputs, &PyTuple_Type, &outputs, &report,
                        &kept))
    return NULL;
  Callback *self = (Callback *)type->tp_alloc(type, 0);
  if (self == NULL) return NULL;
  self->callable = Py_NewRef(callable);
  self->inputs = Py_NewRef(inputs);
  self->outputs = Py_NewRef(outputs);
  self->report = Py_NewRef(report);
  self->kept = Py_NewRef(kept);
  self->index = table_add(self);
  if (self->index >= 0) return (PyObject *)self;
  Py_DECREF(self);
  return NULL;
}

static int callback_traverse(PyObject *object, visitproc visit, void *arg) {
  Callback *self = (Callback *)object;
  Py_VISIT(self->callable);
  Py_VISIT(self->report);
  Py_VISIT(self->kept);
  return 0;
}

static int callback_clear(PyObject *object) {
  Callback *self = (Callback *)object;
  table_remove(self->index);
  Py_CLEAR(self->callable);
  Py_CLEAR(self->inputs);
  Py_CLEAR(self->outputs);
  Py_CLEAR(self->report);
  Py_CLEAR(self->kept);
  return 0;
}

static void callback_free(PyObject *object) {
  PyObject_GC_UnTrack(object);
  PyObject_ClearWeakRefs(object);
  callback_clear(object);
  Py_TYPE(object)->tp_free(object);
}

static PyObject *callback_index(PyObject *object, void *unused) {
  return PyLong_FromLongLong(((Callback *)object)->index);
}

static PyGetSetDef callback_fields[] = {{"index", callback_index, NULL, "Its place in the table.", NULL}, {NULL}};

static PyTypeObject callback_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "couplax.foreign._native_calls.Callback",
    .tp_doc = "Callback(callable, input dtypes, output dtypes, report, kept): what a program calls.",
    .tp_basicsize = sizeof(Callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = callback_new,
    .tp_dealloc = callback_free,
    .tp_traverse = callback_traverse,
    .tp_clear = callback_clear,
    .tp_getset = callback_fields,
    .tp_weaklistoffset = offsetof(Callback, weak_references),
};

int add_python_call(PyObject *module) {
  if (PyArray_ImportNumPyAPI() < 0 || PyModule_AddType(module, &callback_type) < 0) return -1;
  return PyModule_AddObject(module, "python_target", PyCapsule_New((void *)handle, NULL, NULL));
}
