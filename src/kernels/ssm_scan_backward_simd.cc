#include "kernels/ssm_scan_backward_simd.h"

#include <algorithm>
#include <cmath>

#include "kernels/ssm_scan_backward.h"

namespace ghost {

int64_t ScanBackwardScratchFloats(int N, int P) { return (kScanChunk + 1) * N * P; }

void ScanChunkBackward(const HeadChunk& in, float* scratch) {
  const int N = in.N, P = in.P;
  std::copy_n(in.state, N * P, scratch);
  for (int t = 0; t < in.length; ++t) {
    const float dt = in.dt[t * in.dt_stride], decay = std::exp(dt * in.a);
    const float *before = scratch + t * N * P, *x = in.x + t * in.x_stride, *b = in.b + t * in.b_stride;
    float* after = scratch + (t + 1) * N * P;
    for (int n = 0; n < N; ++n) {
      for (int p = 0; p < P; ++p) after[n * P + p] = decay * before[n * P + p] + dt * x[p] * b[n];
    }
  }
  for (int t = in.length - 1; t >= 0; --t) {
    const float dt = in.dt[t * in.dt_stride], decay = std::exp(dt * in.a);
    const float *before = scratch + t * N * P, *after = before + N * P;
    const float *x = in.x + t * in.x_stride, *b = in.b + t * in.b_stride, *c = in.c + t * in.c_stride;
    const float* dy = in.dy + t * in.dy_stride;
    float* dx = in.dx + t * in.dx_stride;
    std::fill_n(dx, P, 0.0f);
    double through_decay = 0, through_input = 0;
    for (int n = 0; n < N; ++n) {
      float sum_b = 0, sum_c = 0;
      for (int p = 0; p < P; ++p) {
        float& gamma = in.gamma[n * P + p];
        gamma += dy[p] * c[n];
        sum_c += dy[p] * after[n * P + p];
        sum_b += gamma * x[p];
        dx[p] += gamma * b[n];
        through_decay += gamma * before[n * P + p];
        gamma *= decay;
      }
      in.db[t * N + n] = dt * sum_b;
      in.dc[t * N + n] = sum_c;
    }
    for (int p = 0; p < P; ++p) {
      through_input += dx[p] * x[p];
      dx[p] = in.d * dy[p] + dt * dx[p];
      *in.dd += dy[p] * x[p];
    }
    in.ddt[t * in.ddt_stride] = static_cast<float>(in.a * decay * through_decay + through_input);
    *in.da += dt * decay * through_decay;
  }
}

}  // namespace ghost
