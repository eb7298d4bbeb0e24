/* A routine with a C ABI as a target of compiled programs, with no Python in between.

   A routine is called by a plan: per parameter, where its word comes from. Under the two ABIs below integers
   and pointers fill one sequence of registers and floating-point numbers another, each independently of the
   other and of the order of the parameters; what does not fit goes to the stack in that order, one word each.
   So one prototype with all registers and enough stack words serves every parameter list: a callee reads
   those that it has, and the caller cleans up. */

#include "memo.h"

#include <pthread.h>
#include <stdatomic.h>

#if defined(__x86_64__) && defined(__unix__)
enum { INTEGERS = 6, FLOATS = 8, STACK = 32, SUPPORTED = 1 };
#define INTEGER_REGISTERS(a) a[0], a[1], a[2], a[3], a[4], a[5]
typedef int64_t W;
#define INTEGER_TYPES W, W, W, W, W, W
#elif defined(__aarch64__) && defined(__linux__)
enum { INTEGERS = 8, FLOATS = 8, STACK = 32, SUPPORTED = 1 };
#define INTEGER_REGISTERS(a) a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
typedef int64_t W;
#define INTEGER_TYPES W, W, W, W, W, W, W, W
#else /* foreign_c then goes through ctypes */
enum { INTEGERS = 1, FLOATS = 8, STACK = 32, SUPPORTED = 0 };
#define INTEGER_REGISTERS(a) a[0]
typedef int64_t W;
#define INTEGER_TYPES W
#endif

#define FLOAT_REGISTERS(a) a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
#define FLOAT_TYPES double, double, double, double, double, double, double, double
#define EIGHT(a, k) a[k], a[k + 1], a[k + 2], a[k + 3], a[k + 4], a[k + 5], a[k + 6], a[k + 7]
#define STACK_WORDS(a) EIGHT(a, 0), EIGHT(a, 8), EIGHT(a, 16), EIGHT(a, 24)
#define EIGHT_TYPES W, W, W, W, W, W, W, W
#define STACK_TYPES EIGHT_TYPES, EIGHT_TYPES, EIGHT_TYPES, EIGHT_TYPES

typedef W IntegerRoutine(INTEGER_TYPES, FLOAT_TYPES);
typedef double FloatRoutine(INTEGER_TYPES, FLOAT_TYPES);
typedef W LongIntegerRoutine(INTEGER_TYPES, FLOAT_TYPES, STACK_TYPES);
typedef double LongFloatRoutine(INTEGER_TYPES, FLOAT_TYPES, STACK_TYPES);

typedef union {
  int64_t integer;
  double real;
  float single;
  void *pointer;
} Word;

typedef struct {
  Word integers[INTEGERS];
  double floats[FLOATS];
  Word stack[STACK];
} Registers;

/* ---- the plan ---- */

typedef enum { VALUE, INPUT, OUTPUT, CONSTANT, CONSTANT_POINTER } Kind;
typedef enum { TO_INTEGER, TO_FLOAT, TO_STACK } Destination;

typedef struct {
  Kind kind;
  char type;      /* as in Python's `struct`: d f q i h b Q I H B ? */
  int64_t number; /* the place of the input or output, or the constant itself */
  Destination destination;
  int place;
} Parameter;

enum { NOT_PREPARED = -2, ZEROED = -1 }; /* else the place of the input that is copied */

typedef struct {
  PyObject_HEAD
  pthread_mutex_t mutex;
} Lock;

typedef struct {
  PyObject_HEAD
  _Atomic int64_t calls;
} Counter;

typedef struct {
  PyObject_HEAD
  void *function;
  PyObject *lock; /* shared by the plans of one code; NULL where several threads may be in it */
  PyObject *weak_references;
  int64_t index, lanes;
  Py_ssize_t inputs, outputs, parameters;
  int64_t *input_strides; /* bytes per lane; 0 for an input that the lanes share */
  int64_t *input_sizes; /* bytes of one lane */
  int64_t *output_strides;
  int64_t *preparations;
  Parameter *parameter;
  char returned;        /* the type of the return value, or 0 */
  int64_t returned_to;  /* its output */
  int needs_stack;
  PyObject *counter; /* shared by the plans of one code for one purpose, which it outlives */
  PyObject *hits;    /* the same, for calls that were remembered */
  PyObject *memos;   /* a tuple: the first is also written to; empty where nothing is remembered */
} Routine;

enum { BUFFERS = 64 };

/* ---- one call ---- */

static Word loaded(char type, const void *data) {
  Word word = {0};
  switch (type) {
    case 'd': word.real = *(const double *)data; break;
    case 'f': word.single = *(const float *)data; break;
    case 'q': case 'Q': word.integer = *(const int64_t *)data; break;
    case 'i': word.integer = *(const int32_t *)data; break;
    case 'I': word.integer = *(const uint32_t *)data; break;
    case 'h': word.integer = *(const int16_t *)data; break;
    case 'H': word.integer = *(const uint16_t *)data; break;
    case 'b': word.integer = *(const int8_t *)data; break;
    default: word.integer = *(const uint8_t *)data; break;
  }
  return word;
}

static void stored(char type, Word word, void *data) {
  switch (type) {
    case 'd': *(double *)data = word.real; break;
    case 'f': *(float *)data = word.single; break;
    case 'q': case 'Q': *(int64_t *)data = word.integer; break;
    case 'i': case 'I': *(int32_t *)data = (int32_t)word.integer; break;
    case 'h': case 'H': *(int16_t *)data = (int16_t)word.integer; break;
    case '?': *(uint8_t *)data = (word.integer & 0xff) != 0; break;
    default: *(int8_t *)data = (int8_t)word.integer; break;
  }
}

typedef struct {
  const Routine *routine;
  char *const *inputs;
  char *const *outputs;
  int64_t lane;
  int64_t *constants; /* copies that the routine may overwrite */
} Call;

static Word word_of(const Call *call, Py_ssize_t k) {
  const Parameter *parameter = &call->routine->parameter[k];
  int64_t number = parameter->number;
  Word word = {0};
  switch (parameter->kind) {
    case VALUE:
      return loaded(parameter->type, call->inputs[number] + call->lane * call->routine->input_strides[number]);
    case INPUT:
      word.pointer = call->inputs[number] + call->lane * call->routine->input_strides[number];
      return word;
    case OUTPUT:
      word.pointer = call->outputs[number] + call->lane * call->routine->output_strides[number];
      return word;
    case CONSTANT:
      word.integer = number;
      return word;
    default:
      call->constants[k] = number; /* little-endian: its first bytes are the shorter integer */
      word.pointer = &call->constants[k];
      return word;
  }
}

static void fill(const Call *call, Registers *registers) {
  for (Py_ssize_t k = 0; k < call->routine->parameters; k++) {
    const Parameter *parameter = &call->routine->parameter[k];
    Word word = word_of(call, k);
    switch (parameter->destination) {
      case TO_INTEGER: registers->integers[parameter->place] = word; break;
      case TO_FLOAT: registers->floats[parameter->place] = word.real; break;
      case TO_STACK: registers->stack[parameter->place] = word; break;
    }
  }
}

static Word called(const Routine *self, const Registers *registers) {
  const W *integers = (const W *)registers->integers, *stack = (const W *)registers->stack;
  const double *floats = registers->floats;
  int is_float = self->returned == 'd' || self->returned == 'f';
  Word word = {0};
  if (self->needs_stack && is_float)
    word.real = ((LongFloatRoutine *)self->function)(INTEGER_REGISTERS(integers), FLOAT_REGISTERS(floats),
                                                     STACK_WORDS(stack));
  else if (self->needs_stack)
    word.integer = ((LongIntegerRoutine *)self->function)(INTEGER_REGISTERS(integers),
                                                          FLOAT_REGISTERS(floats), STACK_WORDS(stack));
  else if (is_float)
    word.real = ((FloatRoutine *)self->function)(INTEGER_REGISTERS(integers), FLOAT_REGISTERS(floats));
  else
    word.integer = ((IntegerRoutine *)self->function)(INTEGER_REGISTERS(integers), FLOAT_REGISTERS(floats));
  return word;
}

static void prepare(const Routine *self, char *const *inputs, char *const *outputs, int64_t lane) {
  for (Py_ssize_t k = 0; k < self->outputs; k++) {
    int64_t source = self->preparations[k], stride = self->output_strides[k];
    if (stride == 0 || source == NOT_PREPARED) continue;
    if (source == ZEROED) memset(outputs[k] + lane * stride, 0, (size_t)stride);
    else memcpy(outputs[k] + lane * stride, inputs[source] + lane * self->input_strides[source], (size_t)stride);
  }
}

static void run_lane(Routine *self, char *const *inputs, char *const *outputs, int64_t lane) {
  int64_t constants[INTEGERS + FLOATS + STACK];
  Registers registers;
  memset(registers.integers, 0, sizeof registers.integers);
  memset(registers.floats, 0, sizeof registers.floats);
  if (self->needs_stack) memset(registers.stack, 0, sizeof registers.stack);
  Call call = {self, inputs, outputs, lane, constants};
  prepare(self, inputs, outputs, lane);
  fill(&call, &registers);
  Word word = called(self, &registers);
  if (self->returned)
    stored(self->returned, word, outputs[self->returned_to] + lane * self->output_strides[self->returned_to]);
}

static void count(PyObject *counter) { atomic_fetch_add(&((Counter *)counter)->calls, 1); }

/* Runs one lane, or copies what it gave before. */
static void remember_lane(Routine *self, char *const *inputs, char *const *outputs, int64_t lane) {
  Piece pieces[BUFFERS];
  char *results[BUFFERS];
  for (Py_ssize_t k = 0; k < self->inputs; k++) {
    pieces[k].data = inputs[k] + lane * self->input_strides[k];
    pieces[k].size = (size_t)self->input_sizes[k];
  }
  for (Py_ssize_t k = 0; k < self->outputs; k++) results[k] = outputs[k] + lane * self->output_strides[k];
  for (Py_ssize_t m = 0; m < PyTuple_GET_SIZE(self->memos); m++) {
    Memo *memo = (Memo *)PyTuple_GET_ITEM(self->memos, m);
    if (memo_find(memo, pieces, self->inputs, results, self->output_strides, self->outputs)) {
      count(self->hits);
      return;
    }
  }
  count(self->counter);
  run_lane(self, inputs, outputs, lane);
  Memo *memo = (Memo *)PyTuple_GET_ITEM(self->memos, 0);
  memo_keep(memo, pieces, self->inputs, results, self->output_strides, self->outputs);
}

static void run(Routine *self, char *const *inputs, char *const *outputs) {
  pthread_mutex_t *mutex = self->lock != NULL ? &((Lock *)self->lock)->mutex : NULL;
  int remembers = PyTuple_GET_SIZE(self->memos) > 0;
  if (mutex != NULL) pthread_mutex_lock(mutex);
  for (int64_t lane = 0; lane < self->lanes; lane++) {
    if (remembers) {
      remember_lane(self, inputs, outputs, lane);
    } else {
      count(self->counter);
      run_lane(self, inputs, outputs, lane);
    }
  }
  if (mutex != NULL) pthread_mutex_unlock(mutex);
}

/* ---- the target ---- */

static XLA_FFI_Error *handle(XLA_FFI_CallFrame *frame) {
  if (answered_metadata(frame)) return NULL;
  Routine *self = table_find(frame);
  if (self == NULL)
    return xla_error(frame, "this program was compiled by another process, whose foreign code is not here");
  if (self->inputs != frame->args.size || self->outputs != frame->rets.size)
    return xla_error(frame, "a routine was compiled for another number of arrays");
  char *inputs[BUFFERS], *outputs[BUFFERS];
  for (Py_ssize_t k = 0; k < self->inputs; k++)
    inputs[k] = ((const XLA_FFI_Buffer *)frame->args.args[k])->data;
  for (Py_ssize_t k = 0; k < self->outputs; k++)
    outputs[k] = ((const XLA_FFI_Buffer *)frame->rets.rets[k])->data;
  run(self, inputs, outputs);
  return NULL;
}

/* ---- a plan from Python ---- */

static int64_t *integers_of(PyObject *tuple) {
  Py_ssize_t count = PyTuple_GET_SIZE(tuple);
  int64_t *values = PyMem_Calloc((size_t)count + 1, sizeof *values);
  for (Py_ssize_t k = 0; values != NULL && k < count; k++)
    values[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, k));
  if (values == NULL) PyErr_NoMemory();
  return values;
}

static int place_parameters(Routine *self) {
  int integers = 0, floats = 0, stack = 0;
  for (Py_ssize_t k = 0; k < self->parameters; k++) {
    Parameter *parameter = &self->parameter[k];
    int is_float = parameter->kind == VALUE && (parameter->type == 'd' || parameter->type == 'f');
    int *count = is_float ? &floats : &integers;
    int fits = *count < (is_float ? FLOATS : INTEGERS);
    parameter->destination = !fits ? TO_STACK : is_float ? TO_FLOAT : TO_INTEGER;
    parameter->place = fits ? (*count)++ : stack++;
  }
  self->needs_stack = stack > 0;
  if (stack <= STACK && self->inputs <= BUFFERS && self->outputs <= BUFFERS) return 0;
  PyErr_SetString(PyExc_ValueError, "a routine has more parameters than can be passed");
  return -1;
}

static int read_parameters(Routine *self, PyObject *parameters) {
  self->parameters = PyTuple_GET_SIZE(parameters);
  self->parameter = PyMem_Calloc((size_t)self->parameters + 1, sizeof(Parameter));
  if (self->parameter == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  for (Py_ssize_t k = 0; k < self->parameters; k++) {
    Parameter *parameter = &self->parameter[k];
    int kind, type;
    long long number;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(parameters, k), "iCL", &kind, &type, &number)) return -1;
    parameter->kind = (Kind)kind;
    parameter->type = (char)type;
    parameter->number = number;
  }
  return place_parameters(self);
}

static PyTypeObject lock_type, counter_type;

static PyObject *routine_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  unsigned long long function;
  PyObject *parameters, *inputs, *outputs, *preparations, *lock, *counter, *hits, *memos, *sizes;
  int returned;
  long long returned_to, lanes;
  if (!PyArg_ParseTuple(args, "KO!O!O!O!O!CLLOO!O!O!", &function, &PyTuple_Type, &parameters, &PyTuple_Type, &inputs,
                        &PyTuple_Type, &sizes, &PyTuple_Type, &outputs, &PyTuple_Type, &preparations, &returned, &returned_to, &lanes,
                        &lock, &counter_type, &counter, &counter_type, &hits, &PyTuple_Type, &memos))
    return NULL;
  Routine *self = (Routine *)type->tp_alloc(type, 0);
  if (self == NULL) return NULL;
  self->index = -1;
  self->function = (void *)(uintptr_t)function;
  self->lock = Py_TYPE(lock) == &lock_type ? Py_NewRef(lock) : NULL;
  self->counter = Py_NewRef(counter);
  self->hits = Py_NewRef(hits);
  self->memos = Py_NewRef(memos);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(memos); k++)
    if (Py_TYPE(PyTuple_GET_ITEM(memos, k)) != &memo_type) PyErr_SetString(PyExc_TypeError, "not a Memo");
  self->inputs = PyTuple_GET_SIZE(inputs);
  self->outputs = PyTuple_GET_SIZE(outputs);
  self->input_strides = integers_of(inputs);
  self->input_sizes = integers_of(sizes);
  self->output_strides = integers_of(outputs);
  self->preparations = integers_of(preparations);
  self->returned = returned == '-' ? 0 : (char)returned;
  self->returned_to = returned_to;
  self->lanes = lanes;
  if (!PyErr_Occurred() && read_parameters(self, parameters) == 0) self->index = table_add(self);
  if (self->index >= 0) return (PyObject *)self;
  Py_DECREF(self);
  return NULL;
}

static void routine_free(PyObject *object) {
  Routine *self = (Routine *)object;
  table_remove(self->index);
  PyMem_Free(self->input_strides);
  PyMem_Free(self->input_sizes);
  PyMem_Free(self->output_strides);
  PyMem_Free(self->preparations);
  PyMem_Free(self->parameter);
  Py_XDECREF(self->lock);
  Py_XDECREF(self->counter);
  Py_XDECREF(self->hits);
  Py_XDECREF(self->memos);
  PyObject_ClearWeakRefs(object);
  Py_TYPE(object)->tp_free(object);
}

static PyObject *routine_index(PyObject *object, void *unused) {
  return PyLong_FromLongLong(((Routine *)object)->index);
}

static PyGetSetDef routine_fields[] = {{"index", routine_index, NULL, "Its place in the table.", NULL}, {NULL}};

static PyTypeObject routine_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "couplax.foreign._native_calls.Routine",
    .tp_doc = "Routine(address, parameters, input strides, input sizes, output strides, preparations, return "
              "type, its output, lanes, lock, counter, hits, memos): a plan for calling a C routine.",
    .tp_basicsize = sizeof(Routine),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = routine_new,
    .tp_dealloc = routine_free,
    .tp_getset = routine_fields,
    .tp_weaklistoffset = offsetof(Routine, weak_references),
};

/* ---- the lock, shared between programs and Python ---- */

static PyObject *lock_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  Lock *self = (Lock *)type->tp_alloc(type, 0);
  if (self != NULL) pthread_mutex_init(&self->mutex, NULL);
  return (PyObject *)self;
}

static void lock_free(PyObject *object) {
  pthread_mutex_destroy(&((Lock *)object)->mutex);
  Py_TYPE(object)->tp_free(object);
}

static PyObject *lock_enter(PyObject *object, PyObject *unused) {
  Py_BEGIN_ALLOW_THREADS;
  pthread_mutex_lock(&((Lock *)object)->mutex);
  Py_END_ALLOW_THREADS;
  return Py_NewRef(object);
}

static PyObject *lock_exit(PyObject *object, PyObject *exception) {
  pthread_mutex_unlock(&((Lock *)object)->mutex);
  Py_RETURN_NONE;
}

static PyMethodDef lock_methods[] = {{"__enter__", lock_enter, METH_NOARGS, "Waits for the lock."},
                                     {"__exit__", lock_exit, METH_VARARGS, "Gives the lock back."},
                                     {NULL, NULL, 0, NULL}};

static PyTypeObject lock_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "couplax.foreign._native_calls.Lock",
    .tp_doc = "Lock(): one caller at a time in a code, from programs and from Python alike.",
    .tp_basicsize = sizeof(Lock),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = lock_new,
    .tp_dealloc = lock_free,
    .tp_methods = lock_methods,
};

/* ---- the counter ---- */

static PyObject *counter_take(PyObject *object, PyObject *unused) {
  return PyLong_FromLongLong(atomic_exchange(&((Counter *)object)->calls, 0));
}

static PyMethodDef counter_methods[] = {
    {"take", counter_take, METH_NOARGS, "Returns the number of calls since it was last asked."},
    {NULL, NULL, 0, NULL}};

static PyTypeObject counter_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "couplax.foreign._native_calls.Counter",
    .tp_doc = "Counter(): how often programs called a routine.",
    .tp_basicsize = sizeof(Counter),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_methods = counter_methods,
};

int add_c_call(PyObject *module) {
  if (PyModule_AddType(module, &routine_type) < 0 || PyModule_AddType(module, &lock_type) < 0 ||
      PyModule_AddType(module, &counter_type) < 0)
    return -1;
  if (PyModule_AddObject(module, "calls_c", PyBool_FromLong(SUPPORTED)) < 0) return -1;
  return PyModule_AddObject(module, "c_target", PyCapsule_New((void *)handle, NULL, NULL));
}
