// Views are copied first; one template for both dtypes, and plain loops that a compiler vectorizes.

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/BFloat16.h>

#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

using torch::headeronly::BFloat16;
using torch::headeronly::ScalarType;
using torch::stable::contiguous;
using torch::stable::Tensor;

namespace {

// Calls `work` with a float or a BFloat16, after the dtype of `t`.
template <typename Work>
void by_dtype(const Tensor& t, const Work& work) {
  switch (t.scalar_type()) {
    case ScalarType::Float:
      return work(float{});
    case ScalarType::BFloat16:
      return work(BFloat16{});
    default:
      STD_TORCH_CHECK(false, "float32 or bfloat16 is needed");
  }
}

void check_same(const Tensor& a, const Tensor& b) {
  STD_TORCH_CHECK(a.scalar_type() == b.scalar_type(), "dtypes differ");
  STD_TORCH_CHECK(a.dim() == b.dim(), "shapes differ");
  for (int64_t d = 0; d < a.dim(); ++d) STD_TORCH_CHECK(a.size(d) == b.size(d), "shapes differ");
}

template <typename T>
std::vector<float> floats(const Tensor& t) {
  const T* from = t.const_data_ptr<T>();
  std::vector<float> to(t.numel());
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(from[i]);
  return to;
}

template <typename T>
void store(const std::vector<float>& from, Tensor& to) {
  T* out = to.mutable_data_ptr<T>();
  for (size_t i = 0; i < from.size(); ++i) out[i] = static_cast<T>(from[i]);
}

Tensor silu_mul(Tensor gate, Tensor up) {
  check_same(gate, up);
  Tensor out = torch::stable::new_empty(gate, gate.sizes());
  gate = contiguous(gate);
  up = contiguous(up);
  by_dtype(gate, [&](auto kind) {
    using T = decltype(kind);
    std::vector<float> g = floats<T>(gate), u = floats<T>(up), y(g.size());
#pragma omp simd
    for (size_t i = 0; i < y.size(); ++i) y[i] = g[i] / (1.0f + std::exp(-g[i])) * u[i];
    store<T>(y, out);
  });
  return out;
}

std::tuple<Tensor, Tensor> silu_mul_backward(Tensor dy, Tensor gate, Tensor up) {
  check_same(gate, up);
  check_same(gate, dy);
  Tensor dgate = torch::stable::new_empty(gate, gate.sizes());
  Tensor dup = torch::stable::new_empty(gate, gate.sizes());
  dy = contiguous(dy);
  gate = contiguous(gate);
  up = contiguous(up);
  by_dtype(gate, [&](auto kind) {
    using T = decltype(kind);
    std::vector<float> d = floats<T>(dy), g = floats<T>(gate), u = floats<T>(up);
    std::vector<float> first(d.size()), second(d.size());
#pragma omp simd
    for (size_t i = 0; i < d.size(); ++i) {
      float s = 1.0f / (1.0f + std::exp(-g[i]));
      first[i] = d[i] * u[i] * (s + g[i] * s * (1.0f - s));
      second[i] = d[i] * (g[i] * s);
    }
    store<T>(first, dgate);
    store<T>(second, dup);
  });
  return {dgate, dup};
}

Tensor add_rms_norm(Tensor x, Tensor residual, Tensor weight, double eps) {
  check_same(x, residual);
  STD_TORCH_CHECK(weight.scalar_type() == x.scalar_type(), "dtypes differ");
  STD_TORCH_CHECK(x.dim() > 0 && weight.dim() == 1, "weight must be a vector, x have rows");
  STD_TORCH_CHECK(weight.size(0) == x.size(x.dim() - 1), "weight does not fit x");
  Tensor out = torch::stable::new_empty(x, x.sizes());
  Tensor sums = torch::stable::new_empty(x, x.sizes());
  int64_t width = weight.size(0);
  by_dtype(x, [&](auto kind) {
    using T = decltype(kind);
    std::vector<float> a = floats<T>(contiguous(x)), b = floats<T>(contiguous(residual));
    std::vector<float> w = floats<T>(contiguous(weight));
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    store<T>(a, sums);
    std::vector<float> r = floats<T>(sums);
    for (size_t start = 0; start < r.size(); start += width) {
      float squares = 0.0f;
#pragma omp simd reduction(+ : squares)
      for (int64_t e = 0; e < width; ++e) squares += r[start + e] * r[start + e];
      float root = std::sqrt(squares / width + static_cast<float>(eps));
      for (int64_t e = 0; e < width; ++e) r[start + e] = r[start + e] / root * w[e];
    }
    store<T>(r, out);
  });
  if (x.numel()) torch::stable::copy_(residual, sums);
  return out;
}

Tensor int4_linear(Tensor x, Tensor packed, Tensor scale, Tensor zero, int64_t group) {
  STD_TORCH_CHECK(x.dim() == 2 && packed.dim() == 2 && scale.dim() == 2 && zero.dim() == 2,
                  "matrices are needed");
  int64_t rows = x.size(0), inputs = x.size(1), outputs = packed.size(0);
  STD_TORCH_CHECK(packed.scalar_type() == ScalarType::Byte, "packed must be uint8");
  STD_TORCH_CHECK(zero.scalar_type() == ScalarType::Byte, "zero must be uint8");
  STD_TORCH_CHECK(scale.scalar_type() == ScalarType::Float, "scale must be float32");
  STD_TORCH_CHECK(group > 0 && inputs % group == 0, "group does not fit x");
  STD_TORCH_CHECK(inputs == 2 * packed.size(1), "packed does not fit x");
  int64_t groups = inputs / group;
  for (const Tensor& each : {scale, zero}) {
    STD_TORCH_CHECK(each.size(0) == outputs && each.size(1) == groups, "groups do not fit");
  }
  int64_t shape[] = {rows, outputs};
  Tensor out = torch::stable::new_empty(x, {shape, 2});
  x = contiguous(x);
  packed = contiguous(packed);
  scale = contiguous(scale);
  zero = contiguous(zero);
  by_dtype(x, [&](auto kind) {
    using T = decltype(kind);
    std::vector<float> v = floats<T>(x), y(rows * outputs, 0.0f);
    const uint8_t* p = packed.const_data_ptr<uint8_t>();
    const uint8_t* z = zero.const_data_ptr<uint8_t>();
    const float* s = scale.const_data_ptr<float>();
    for (int64_t m = 0; m < rows; ++m) {
      for (int64_t o = 0; o < outputs; ++o) {
        for (int64_t g = 0; g < groups; ++g) {
          float sum = 0.0f, all = 0.0f;  // sums of a group: zero and scale are used once
          for (int64_t i = g * group; i < (g + 1) * group; ++i) {
            int byte = p[o * inputs / 2 + i / 2];
            sum += v[m * inputs + i] * static_cast<float>(i & 1 ? byte >> 4 : byte & 15);
            all += v[m * inputs + i];
          }
          int64_t at = o * groups + g;
          y[m * outputs + o] += s[at] * (sum - static_cast<float>(z[at]) * all);
        }
      }
    }
    store<T>(y, out);
  });
  return out;
}

}  // namespace

STABLE_TORCH_LIBRARY(inferlab15, m) {
  m.def("silu_mul(Tensor gate, Tensor up) -> Tensor");
  m.def("silu_mul_backward(Tensor dy, Tensor gate, Tensor up) -> (Tensor, Tensor)");
  m.def("add_rms_norm(Tensor x, Tensor(a!) residual, Tensor weight, float eps) -> Tensor");
  m.def("int4_linear(Tensor x, Tensor packed, Tensor scale, Tensor zero, int group) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(inferlab15, CPU, m) {
  m.impl("silu_mul", TORCH_BOX(&silu_mul));
  m.impl("silu_mul_backward", TORCH_BOX(&silu_mul_backward));
  m.impl("add_rms_norm", TORCH_BOX(&add_rms_norm));
  m.impl("int4_linear", TORCH_BOX(&int4_linear));
}
