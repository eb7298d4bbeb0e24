/* The last points at which a routine was called, with what it gave there. */

#ifndef COUPLAX_MEMO_H
#define COUPLAX_MEMO_H

#include "native.h"

typedef struct {
  const char *data;
  size_t size;
} Piece;

typedef struct Memo Memo;

extern PyTypeObject memo_type;

/* Copies the outputs at the point into place and returns 1; returns 0 where it is not remembered. */
int memo_find(Memo *memo, const Piece *inputs, Py_ssize_t input_count, char *const *outputs,
              const int64_t *output_sizes, Py_ssize_t output_count);

/* Remembers a copy of the point and its outputs in place of the one that was kept longest ago. Where there is no
   memory for it, it is not remembered. */
void memo_keep(Memo *memo, const Piece *inputs, Py_ssize_t input_count, char *const *outputs,
               const int64_t *output_sizes, Py_ssize_t output_count);

int add_memo(PyObject *module);

#endif
