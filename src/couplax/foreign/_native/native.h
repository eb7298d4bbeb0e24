/* What the files of the extension share: the table of targets, the exit guard, and errors for XLA.

   A compiled program names what it calls by two numbers in its custom call: an index into a table of this
   process, and the process's own mark. A program that comes from another process (a compilation cache on
   disk, a serialised program) bears another mark, so it is refused instead of calling something else. */

#ifndef COUPLAX_NATIVE_H
#define COUPLAX_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#include "xla/ffi/api/c_api.h"

/* Returns the index of `target`, which is never used again, or -1 with a Python error set. */
int64_t table_add(void *target);

/* Forgets the target: a program that still names it is refused. */
void table_remove(int64_t index);

/* Returns what the program of `frame` calls, or NULL. Needs no lock: an entry is written once, before any
   program can name it. */
void *table_find(const XLA_FFI_CallFrame *frame);

/* Answers XLA's question for the version of the API that this was compiled for; returns whether it was
   asked, in which case there is nothing to run. */
int answered_metadata(const XLA_FFI_CallFrame *frame);

/* Returns an error of XLA with this text. */
XLA_FFI_Error *xla_error(const XLA_FFI_CallFrame *frame, const char *message);

/* Enters Python from a program; returns 0 where the interpreter is exiting, and Python must not be touched.
   `leave_python` is called after each entry that succeeded. */
int enter_python(PyGILState_STATE *state);
void leave_python(PyGILState_STATE state);

/* Each adds its types and functions to the module; returns 0, or -1 with a Python error set. */
int add_python_call(PyObject *module);
int add_c_call(PyObject *module);

#endif
