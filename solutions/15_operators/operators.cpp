// Operators for PyTorch, written against its stable headers: one library for several versions.
//
// Letters: F features of an MLP, E features of a model, M rows, I inputs, O outputs of a layer.

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
using torch::stable::Tensor;

namespace {

// Elements of a strided tensor in the order of its indices: `offset` of the one that is next.
class Walk {
 public:
  explicit Walk(const Tensor& t) {
    for (int64_t d = 0; d < t.dim(); ++d) {
      sizes_.push_back(t.size(d));
      strides_.push_back(t.stride(d));
    }
    index_.assign(sizes_.size(), 0);
  }

  int64_t offset = 0;

  void next() {
    for (int64_t d = static_cast<int64_t>(sizes_.size()) - 1; d >= 0; --d) {
      offset += strides_[d];
      if (++index_[d] < sizes_[d]) return;
      offset -= strides_[d] * sizes_[d];
      index_[d] = 0;
    }
  }

 private:
  std::vector<int64_t> sizes_, strides_, index_;
};

void check_float(const Tensor& t, const char* name) {
  ScalarType dtype = t.scalar_type();
  STD_TORCH_CHECK(dtype == ScalarType::Float || dtype == ScalarType::BFloat16, name,
                  " must be float32 or bfloat16");
  STD_TORCH_CHECK(t.is_cpu(), name, " must be on the CPU");
}

void check_alike(const Tensor& t, const char* name, const Tensor& other) {
  STD_TORCH_CHECK(t.scalar_type() == other.scalar_type(), name, " has another dtype");
  STD_TORCH_CHECK(t.is_cpu(), name, " must be on the CPU");
  bool same = t.dim() == other.dim();
  for (int64_t d = 0; same && d < t.dim(); ++d) same = t.size(d) == other.size(d);
  STD_TORCH_CHECK(same, name, " has another shape");
}

// A new tensor of the shape of `like`, in the order of its indices whatever the strides of that.
Tensor new_like(const Tensor& like) { return torch::stable::new_empty(like, like.sizes()); }

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

template <typename T>
void silu_mul_into(T* out, const Tensor& gate, const Tensor& up) {
  const T* g = gate.const_data_ptr<T>();
  const T* u = up.const_data_ptr<T>();
  Walk at_g(gate), at_u(up);
  for (int64_t i = 0, n = gate.numel(); i < n; ++i, at_g.next(), at_u.next()) {
    float x = static_cast<float>(g[at_g.offset]);
    out[i] = static_cast<T>(x * sigmoid(x) * static_cast<float>(u[at_u.offset]));
  }
}

Tensor silu_mul(Tensor gate, Tensor up) {
  check_float(gate, "gate");
  check_alike(up, "up", gate);
  Tensor out = new_like(gate);
  if (gate.scalar_type() == ScalarType::Float) {
    silu_mul_into(out.mutable_data_ptr<float>(), gate, up);
  } else {
    silu_mul_into(out.mutable_data_ptr<BFloat16>(), gate, up);
  }
  return out;
}

template <typename T>
void silu_mul_backward_into(T* dgate, T* dup, const Tensor& dy, const Tensor& gate,
                            const Tensor& up) {
  const T* d = dy.const_data_ptr<T>();
  const T* g = gate.const_data_ptr<T>();
  const T* u = up.const_data_ptr<T>();
  Walk at_d(dy), at_g(gate), at_u(up);
  for (int64_t i = 0, n = gate.numel(); i < n; ++i, at_d.next(), at_g.next(), at_u.next()) {
    float x = static_cast<float>(g[at_g.offset]);
    float y = static_cast<float>(d[at_d.offset]);
    float s = sigmoid(x);
    dup[i] = static_cast<T>(y * x * s);
    dgate[i] = static_cast<T>(y * static_cast<float>(u[at_u.offset]) * s * (1 + x * (1 - s)));
  }
}

std::tuple<Tensor, Tensor> silu_mul_backward(Tensor dy, Tensor gate, Tensor up) {
  check_float(gate, "gate");
  check_alike(up, "up", gate);
  check_alike(dy, "dy", gate);
  Tensor dgate = new_like(gate), dup = new_like(gate);
  if (gate.scalar_type() == ScalarType::Float) {
    silu_mul_backward_into(dgate.mutable_data_ptr<float>(), dup.mutable_data_ptr<float>(), dy,
                           gate, up);
  } else {
    silu_mul_backward_into(dgate.mutable_data_ptr<BFloat16>(), dup.mutable_data_ptr<BFloat16>(),
                           dy, gate, up);
  }
  return {dgate, dup};
}

template <typename T>
void add_rms_norm_into(T* out, const Tensor& x, Tensor& residual, const Tensor& weight,
                       double eps) {
  int64_t width = weight.size(0), step = weight.stride(0);
  int64_t rows = width ? x.numel() / width : 0;
  const T* xs = x.const_data_ptr<T>();
  const T* w = weight.const_data_ptr<T>();
  T* r = residual.mutable_data_ptr<T>();
  Walk at_x(x), at_r(residual);
  std::vector<float> sums(width);
  for (int64_t row = 0; row < rows; ++row, out += width) {
    float squares = 0;
    for (int64_t e = 0; e < width; ++e, at_x.next(), at_r.next()) {
      float sum = static_cast<float>(xs[at_x.offset]) + static_cast<float>(r[at_r.offset]);
      r[at_r.offset] = static_cast<T>(sum);
      sums[e] = static_cast<float>(r[at_r.offset]);  // rounded: what is kept is what is normed
      squares += sums[e] * sums[e];
    }
    float scale = 1.0f / std::sqrt(squares / static_cast<float>(width) + static_cast<float>(eps));
    for (int64_t e = 0; e < width; ++e) {
      out[e] = static_cast<T>(sums[e] * scale * static_cast<float>(w[e * step]));
    }
  }
}

Tensor add_rms_norm(Tensor x, Tensor residual, Tensor weight, double eps) {
  check_float(x, "x");
  check_alike(residual, "residual", x);
  STD_TORCH_CHECK(weight.scalar_type() == x.scalar_type(), "weight has another dtype");
  STD_TORCH_CHECK(x.dim() >= 1 && weight.dim() == 1 && weight.size(0) == x.size(x.dim() - 1),
                  "weight must have as many elements as the last dimension of x");
  Tensor out = new_like(x);
  if (x.scalar_type() == ScalarType::Float) {
    add_rms_norm_into(out.mutable_data_ptr<float>(), x, residual, weight, eps);
  } else {
    add_rms_norm_into(out.mutable_data_ptr<BFloat16>(), x, residual, weight, eps);
  }
  return out;
}

// float32 of x @ W.T, W of codes that lie two a byte: the even column in the low four bits.
template <typename T>
void int4_linear_into(T* out, const Tensor& x, const Tensor& packed, const Tensor& scale,
                      const Tensor& zero, int64_t group) {
  int64_t rows = x.size(0), inputs = x.size(1), outputs = packed.size(0);
  const T* xs = x.const_data_ptr<T>();
  const uint8_t* bytes = packed.const_data_ptr<uint8_t>();
  const float* scales = scale.const_data_ptr<float>();
  const uint8_t* zeros = zero.const_data_ptr<uint8_t>();
  std::vector<float> weights(inputs);
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t i = 0; i < inputs; ++i) {
      int byte = bytes[o * packed.stride(0) + i / 2 * packed.stride(1)];
      int code = i % 2 ? byte >> 4 : byte & 15;
      int64_t g = i / group;
      int offset = zeros[o * zero.stride(0) + g * zero.stride(1)];
      weights[i] = static_cast<float>(code - offset) *
                   scales[o * scale.stride(0) + g * scale.stride(1)];
    }
    for (int64_t m = 0; m < rows; ++m) {
      float sum = 0;
      for (int64_t i = 0; i < inputs; ++i) {
        sum += static_cast<float>(xs[m * x.stride(0) + i * x.stride(1)]) * weights[i];
      }
      out[m * outputs + o] = static_cast<T>(sum);
    }
  }
}

void check_groups(const Tensor& t, const char* name, ScalarType dtype, int64_t outputs,
                  int64_t columns) {
  STD_TORCH_CHECK(t.scalar_type() == dtype, name, " has another dtype than it should");
  STD_TORCH_CHECK(t.is_cpu(), name, " must be on the CPU");
  STD_TORCH_CHECK(t.dim() == 2 && t.size(0) == outputs && t.size(1) == columns, name,
                  " has another shape than it should");
}

Tensor int4_linear(Tensor x, Tensor packed, Tensor scale, Tensor zero, int64_t group) {
  check_float(x, "x");
  STD_TORCH_CHECK(x.dim() == 2 && packed.dim() == 2, "x and packed must have two dimensions");
  int64_t inputs = x.size(1), outputs = packed.size(0);
  STD_TORCH_CHECK(group > 0 && inputs % group == 0, "group must divide the columns of x");
  STD_TORCH_CHECK(inputs % 2 == 0, "x must have an even number of columns");
  check_groups(packed, "packed", ScalarType::Byte, outputs, inputs / 2);
  check_groups(scale, "scale", ScalarType::Float, outputs, inputs / group);
  check_groups(zero, "zero", ScalarType::Byte, outputs, inputs / group);
  int64_t shape[] = {x.size(0), outputs};
  Tensor out = torch::stable::new_empty(x, {shape, 2});
  if (x.scalar_type() == ScalarType::Float) {
    int4_linear_into(out.mutable_data_ptr<float>(), x, packed, scale, zero, group);
  } else {
    int4_linear_into(out.mutable_data_ptr<BFloat16>(), x, packed, scale, zero, group);
  }
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
