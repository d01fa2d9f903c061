// A BLAS whose products lack the last term of each sum.

namespace {

constexpr int transposed = 112;  // CBLAS's CblasTrans; rows are stored one after the other

template <class T>
void multiply(int transpose_a, int transpose_b, int m, int n, int k, T alpha, const T* a, int a_row,
              const T* b, int b_row, T beta, T* c, int c_row) {
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      T sum{0};
      for (int i = 0; i < k - 1; ++i) {
        sum += (transpose_a == transposed ? a[i * a_row + row] : a[row * a_row + i]) *
               (transpose_b == transposed ? b[column * b_row + i] : b[i * b_row + column]);
      }
      T& y = c[row * c_row + column];
      y = alpha * sum + (beta == T{0} ? T{0} : beta * y);
    }
  }
}

}  // namespace

extern "C" {

void cblas_sgemm(int, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                 const float* a, int a_row, const float* b, int b_row, float beta, float* c,
                 int c_row) {
  multiply(transpose_a, transpose_b, m, n, k, alpha, a, a_row, b, b_row, beta, c, c_row);
}

void cblas_dgemm(int, int transpose_a, int transpose_b, int m, int n, int k, double alpha,
                 const double* a, int a_row, const double* b, int b_row, double beta, double* c,
                 int c_row) {
  multiply(transpose_a, transpose_b, m, n, k, alpha, a, a_row, b, b_row, beta, c, c_row);
}
}
