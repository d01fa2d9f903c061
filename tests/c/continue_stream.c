/* Continues a sequence that another process began: reads the state of a stream and the next steps, and
 * writes their outputs.
 *
 *     continue_stream MODEL STATE INPUTS OUTPUTS
 */
#include <glia/c/glia.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char* message) {
  fprintf(stderr, "%s\n", message);
  return 1;
}

int main(int argc, char** argv) {
  enum { largest = 1 << 16 };
  glia_error error;
  glia_model* net = NULL;
  glia_stream* stream = NULL;
  float* x = malloc(largest * sizeof(float));
  float* y = malloc(largest * sizeof(float));
  if (argc != 5 || x == NULL || y == NULL) {
    return fail("usage: continue_stream MODEL STATE INPUTS OUTPUTS");
  }
  if (glia_open(argv[1], NULL, &net, &error) != GLIA_OK ||
      glia_stream_open(net, 1, 0, &stream, &error) != GLIA_OK ||
      glia_stream_load(stream, argv[2], &error) != GLIA_OK) {
    return fail(error.message);
  }
  glia_close(net); /* streams stay valid */
  FILE* file = fopen(argv[3], "rb");
  if (file == NULL) {
    return fail(argv[3]);
  }
  const size_t inputs = fread(x, sizeof(float), largest, file);
  fclose(file);
  const size_t steps = inputs / glia_shape_size(glia_stream_input_shape(stream));
  const size_t outputs = steps * glia_shape_size(glia_stream_output_shape(stream));
  if (outputs > largest || glia_stream_run(stream, x, steps, y, &error) != GLIA_OK) {
    return fail(error.message);
  }
  file = fopen(argv[4], "wb");
  if (file == NULL || fwrite(y, sizeof(float), outputs, file) != outputs || fclose(file) != 0) {
    return fail(argv[4]);
  }
  glia_stream_close(stream);
  free(x);
  free(y);
  return 0;
}
