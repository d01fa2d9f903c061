/* Opens a model, describes it, and predicts the outputs for a sample of zeros. */
#include <glia/c/glia.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  glia_model* net = NULL;
  glia_error error;
  if (argc != 2) {
    fprintf(stderr, "usage: predict FILE\n");
    return 2;
  }
  if (glia_open(argv[1], NULL, &net, &error) != GLIA_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  printf("%s", glia_summary(net));

  const size_t inputs = glia_shape_size(glia_input_shape(net));
  const size_t outputs = glia_shape_size(glia_output_shape(net));
  float* x = calloc(inputs, sizeof(float));
  float* y = calloc(outputs, sizeof(float));
  if (x == NULL || y == NULL) {
    fprintf(stderr, "not enough memory\n");
    return 1;
  }
  if (glia_predict(net, x, 1, y, &error) != GLIA_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  for (size_t i = 0; i < outputs; ++i) {
    printf("%.9g\n", y[i]);
  }
  free(x);
  free(y);
  glia_close(net);
  return 0;
}
