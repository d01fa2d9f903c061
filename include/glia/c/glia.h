#ifndef GLIA_C_GLIA_H
#define GLIA_C_GLIA_H

/*
 * The C interface of glia: opens models that glia::save wrote, and predicts with them.
 *
 *     glia_error error;
 *     glia_model* net = NULL;
 *     if (glia_open("net.safetensors", NULL, &net, &error) != GLIA_OK) {
 *       fprintf(stderr, "%s\n", error.message);
 *       return 1;
 *     }
 *     glia_predict(net, inputs, 1, outputs, &error);
 *     glia_close(net);
 *
 * It is C99 and C++. Link the shared library libglia, the CMake target glia::c.
 *
 * Errors: a function that can fail returns a glia_status. It also writes a readable message to
 * `error`, unless `error` is NULL. After a failure, outputs and objects are unchanged, unless a
 * function says otherwise. No C++ exception leaves the library.
 *
 * Threads: any number of threads can use a model at the same time. A stream belongs to one thread
 * at a time.
 *
 * Several versions of the library can be loaded into one process. They share OpenBLAS: on processors
 * without AVX-512, two versions that compute large products at the same time may change its number
 * of threads under each other, which affects the speed and not the results.
 *
 * Arrays are in row-major order. Sizes are numbers of elements, not of bytes.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GLIA_API __attribute__((visibility("default")))
#else
#define GLIA_API
#endif

/* The result of a function. */
typedef enum glia_status {
  GLIA_OK = 0,
  GLIA_INVALID_ARGUMENT = 1, /* a null pointer, or a value outside its range */
  GLIA_WRONG_DATA = 2,       /* a file that is missing, damaged or unknown, or wrong samples */
  GLIA_WRONG_SHAPE = 3,      /* an array of the wrong size */
  GLIA_OUT_OF_MEMORY = 4,
  GLIA_FAILED = 5 /* any other error; the message has the reason */
} glia_status;

/* The last error of a call. Its memory belongs to the caller. */
typedef struct glia_error {
  glia_status status;
  char message[1024]; /* a text in UTF-8 that ends with a zero; long texts are cut */
} glia_error;

/* A shape, outermost extent first. */
typedef struct glia_shape {
  size_t rank; /* number of extents, at most 6 */
  size_t extents[6];
} glia_shape;

/* A model with its parameters. */
typedef struct glia_model glia_model;

/* A sequence that runs through a model in blocks of steps. */
typedef struct glia_stream glia_stream;

/* Options of glia_open. Initialize them with GLIA_OPTIONS_INIT, so that options that you do not set
 * have their defaults. */
typedef struct glia_options {
  size_t size;      /* sizeof(glia_options) */
  size_t threads;   /* number of threads of the model; 0: as many as processors */
  double tolerance; /* largest difference of the outputs of the file's example; see glia::open */
} glia_options;

#define GLIA_OPTIONS_INIT \
  { sizeof(glia_options), 0, 1e-3 }

/* Returns the version of the library, such as "0.3.0". */
GLIA_API const char* glia_version(void);

/* Opens the model in a file. `options` may be NULL. `*model` is set only if the call succeeds. */
GLIA_API glia_status glia_open(const char* path, const glia_options* options, glia_model** model,
                               glia_error* error);
/* Opens the model in the bytes of a file. The bytes are copied. */
GLIA_API glia_status glia_open_bytes(const void* bytes, size_t size, const glia_options* options,
                                     glia_model** model, glia_error* error);
/* Releases a model. Streams of the model stay valid. NULL is allowed. */
GLIA_API void glia_close(glia_model* model);

/* Returns the shape of a sample, without the batch axis. The rank is 0 if `model` is NULL. */
GLIA_API glia_shape glia_input_shape(const glia_model* model);
/* Returns the shape of the output for a sample, without the batch axis. */
GLIA_API glia_shape glia_output_shape(const glia_model* model);
/* Returns the number of elements of a shape. */
GLIA_API size_t glia_shape_size(glia_shape shape);
/* Returns the summary of a model: a table of its layers, as a text that exists as long as the
 * model. Returns an empty text if `model` is NULL. */
GLIA_API const char* glia_summary(const glia_model* model);
/* Returns a text that glia::save has stored in the file, such as the names of the classes, or NULL
 * if the file has no text with this key. The text exists as long as the model. */
GLIA_API const char* glia_metadata(const glia_model* model, const char* key);

/* Computes the outputs for `samples` samples. `inputs` has samples * size of the input shape
 * elements, `outputs` has samples * size of the output shape elements. If the memory does not
 * suffice, some outputs may already be written. */
GLIA_API glia_status glia_predict(const glia_model* model, const float* inputs, size_t samples,
                                  float* outputs, glia_error* error);

/* Makes a stream of `sequences` sequences that run side by side. `max_steps` is the largest number
 * of steps of a sequence, if the model has layers that need one; 0 means the number of steps of a
 * sample. Fails if a layer cannot run in blocks; the message names it. */
GLIA_API glia_status glia_stream_open(const glia_model* model, size_t sequences, size_t max_steps,
                                      glia_stream** stream, glia_error* error);
/* Makes an independent stream that continues after the same step. */
GLIA_API glia_status glia_stream_copy(const glia_stream* stream, glia_stream** copy,
                                      glia_error* error);
/* Releases a stream. NULL is allowed. */
GLIA_API void glia_stream_close(glia_stream* stream);
/* Returns the shape of a step of one sequence. */
GLIA_API glia_shape glia_stream_input_shape(const glia_stream* stream);
/* Returns the shape of the output for a step of one sequence. */
GLIA_API glia_shape glia_stream_output_shape(const glia_stream* stream);
/* Computes the outputs for the next `steps` steps of each sequence. `inputs` is
 * (sequences, steps, ...input shape), `outputs` is (sequences, steps, ...output shape). After
 * GLIA_OUT_OF_MEMORY or GLIA_FAILED, call glia_stream_reset before the next block. After other errors
 * the stream is unchanged. */
GLIA_API glia_status glia_stream_run(glia_stream* stream, const float* inputs, size_t steps,
                                     float* outputs, glia_error* error);
/* Begins new sequences. */
GLIA_API glia_status glia_stream_reset(glia_stream* stream, glia_error* error);
/* Saves the state of the sequences to a file. */
GLIA_API glia_status glia_stream_save(const glia_stream* stream, const char* path,
                                      glia_error* error);
/* Replaces the state of the sequences by the state in a file that glia_stream_save wrote. */
GLIA_API glia_status glia_stream_load(glia_stream* stream, const char* path, glia_error* error);

#ifdef __cplusplus
}
#endif

#endif
