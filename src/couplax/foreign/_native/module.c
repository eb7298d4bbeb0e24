/* The module, the table of targets and the exit guard. */

#include "memo.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* ---- the table of targets: chunks that never move, so that a program reads it without a lock ---- */

enum { CHUNK = 1024, CHUNKS = 65536 };

static _Atomic(void *) *chunks[CHUNKS];
static int64_t used;
static uint64_t mark;

int64_t table_add(void *target) {
  int64_t index = used, chunk = index / CHUNK;
  if (chunk >= CHUNKS) {
    PyErr_SetString(PyExc_MemoryError, "couplax's table of foreign calls is full");
    return -1;
  }
  if (chunks[chunk] == NULL) chunks[chunk] = calloc(CHUNK, sizeof(void *));
  if (chunks[chunk] == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  atomic_store(&chunks[chunk][index % CHUNK], target);
  used = index + 1;
  return index;
}

void table_remove(int64_t index) {
  if (index >= 0) atomic_store(&chunks[index / CHUNK][index % CHUNK], NULL);
}

static uint64_t attribute(const XLA_FFI_CallFrame *frame, int place) {
  if (frame->attrs.types[place] != XLA_FFI_AttrType_SCALAR) return 0;
  const XLA_FFI_Scalar *scalar = frame->attrs.attrs[place];
  return scalar->dtype == XLA_FFI_DataType_U64 ? *(const uint64_t *)scalar->value : 0;
}

void *table_find(const XLA_FFI_CallFrame *frame) {
  /* XLA sorts attributes by name: `index`, then `mark`. */
  if (frame->attrs.size != 2 || attribute(frame, 1) != mark) return NULL;
  uint64_t index = attribute(frame, 0);
  if (index / CHUNK >= CHUNKS || chunks[index / CHUNK] == NULL) return NULL;
  return atomic_load(&chunks[index / CHUNK][index % CHUNK]);
}

/* ---- XLA ---- */

/* XLA accepts a handler of its own or an older version of the API. What is used here has been the same since
   this version, so that is what is answered, whatever the headers' own: one build serves jaxlibs older and
   newer than the one it was compiled against. Headers for which that no longer holds fail to compile. */
enum { MAJOR = 0, MINOR = 3 };
_Static_assert(XLA_FFI_API_MAJOR == MAJOR && XLA_FFI_API_MINOR >= MINOR, "another version of XLA's FFI");
_Static_assert(offsetof(XLA_FFI_CallFrame, api) == 16 && offsetof(XLA_FFI_CallFrame, args) == 40 &&
                   offsetof(XLA_FFI_CallFrame, rets) == 80 && offsetof(XLA_FFI_CallFrame, attrs) == 120,
               "another call frame");
_Static_assert(offsetof(XLA_FFI_Args, args) == 32 && offsetof(XLA_FFI_Rets, rets) == 32 &&
                   offsetof(XLA_FFI_Attrs, types) == 24 && offsetof(XLA_FFI_Attrs, attrs) == 40,
               "other lists of arrays and attributes");
_Static_assert(offsetof(XLA_FFI_Buffer, data) == 24 && offsetof(XLA_FFI_Buffer, dims) == 40, "another buffer");
_Static_assert(offsetof(XLA_FFI_Api, XLA_FFI_Error_Create) == 48, "another table of functions");
_Static_assert(offsetof(XLA_FFI_Error_Create_Args, message) == 16, "another error");
_Static_assert(offsetof(XLA_FFI_Metadata, api_version) == 8 && offsetof(XLA_FFI_Metadata_Extension, metadata) == 24,
               "other metadata");

int answered_metadata(const XLA_FFI_CallFrame *frame) {
  if (frame->extension_start == NULL || frame->extension_start->type != XLA_FFI_Extension_Metadata) return 0;
  XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata;
  metadata->api_version.major_version = MAJOR;
  metadata->api_version.minor_version = MINOR;
  return 1;
}

XLA_FFI_Error *xla_error(const XLA_FFI_CallFrame *frame, const char *message) {
  XLA_FFI_Error_Create_Args args = {0};
  args.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
  args.message = message;
  args.errc = XLA_FFI_Error_Code_UNKNOWN;
  return frame->api->XLA_FFI_Error_Create(&args);
}

/* ---- the exit guard ---- */

static atomic_int closing, inside;

/* A child of `fork` has none of the threads that were inside. */
static void forget_inside(void) { atomic_store(&inside, 0); }

int enter_python(PyGILState_STATE *state) {
  /* Counted before asking: `close` sets the flag before it looks at the count, so one of the two sees the
     other. */
  atomic_fetch_add(&inside, 1);
  if (atomic_load(&closing)) {
    atomic_fetch_sub(&inside, 1);
    return 0;
  }
  int known = PyGILState_GetThisThreadState() != NULL;
  *state = PyGILState_Ensure();
  /* A thread of XLA's, here for the first time: one more `Ensure` than `Release` keeps its thread state,
     which is costly to make, for the next call. Such threads live as long as the process, and Python frees
     their states when it exits. */
  if (!known) (void)PyGILState_Ensure();
  return 1;
}

void leave_python(PyGILState_STATE state) {
  PyGILState_Release(state);
  atomic_fetch_sub(&inside, 1);
}

/* Lets other threads of Python run for so long. */
static void pause_for(long milliseconds) {
  struct timespec pause = {0, milliseconds * 1000000};
  Py_BEGIN_ALLOW_THREADS;
  nanosleep(&pause, NULL);
  Py_END_ALLOW_THREADS;
}

static PyObject *close_module(PyObject *module, PyObject *unused) {
  atomic_store(&closing, 1);
  int waited = 0;
  for (; atomic_load(&inside) > 0; waited = 1) {
    pause_for(1);
    if (PyErr_CheckSignals() < 0) return NULL;
  }
  /* A program that was running ends with the call that it is refused; the thread that started it comes back
     to Python with the error, and Python has to be there still. */
  if (waited) pause_for(200);
  Py_RETURN_NONE;
}

/* ---- the module ---- */

static PyMethodDef methods[] = {
    {"close", close_module, METH_NOARGS,
     "Refuses further calls from programs and waits for those that are running: Python is about to exit."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_native_calls", .m_size = -1,
                                        .m_methods = methods,
                                        .m_doc = "Calls from compiled programs to Python and to C."};

static int add_mark(PyObject *module) {
  PyObject *random = PyImport_ImportModule("os");
  PyObject *bytes = random ? PyObject_CallMethod(random, "urandom", "i", 8) : NULL;
  Py_XDECREF(random);
  if (bytes == NULL) return -1;
  memcpy(&mark, PyBytes_AS_STRING(bytes), 8);
  mark = mark >> 2 | 1; /* fits an attribute's signed number; never the 0 of an attribute of another kind */
  Py_DECREF(bytes);
  return PyModule_AddObject(module, "mark", PyLong_FromUnsignedLongLong(mark));
}

PyMODINIT_FUNC PyInit__native_calls(void) {
  PyObject *module = PyModule_Create(&definition);
  if (module == NULL) return NULL;
  pthread_atfork(NULL, NULL, forget_inside);
  if (add_mark(module) < 0 || add_python_call(module) < 0 || add_memo(module) < 0 || add_c_call(module) < 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
