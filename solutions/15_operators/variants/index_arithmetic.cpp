// The place of an element is computed from its number, and what is inside is double.

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/BFloat16.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

using torch::headeronly::BFloat16;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;

namespace {

int64_t place(const Tensor& t, int64_t number) {
  int64_t at = 0;
  for (int64_t d = t.dim() - 1; d >= 0; --d) {
    at += number % t.size(d) * t.stride(d);
    number /= t.size(d);
  }
  return at;
}

bool is_float(const Tensor& t) { return t.scalar_type() == ScalarType::Float; }

double load(const Tensor& t, int64_t number) {
  int64_t at = place(t, number);
  if (is_float(t)) return t.const_data_ptr<float>()[at];
  return static_cast<float>(t.const_data_ptr<BFloat16>()[at]);
}

void store(Tensor& t, int64_t number, double value) {
  int64_t at = place(t, number);
  if (is_float(t)) {
    t.mutable_data_ptr<float>()[at] = static_cast<float>(value);
  } else {
    t.mutable_data_ptr<BFloat16>()[at] = static_cast<BFloat16>(static_cast<float>(value));
  }
}

void must(bool holds, const char* what) { STD_TORCH_CHECK(holds, what); }

void must_fit(std::vector<std::reference_wrapper<const Tensor>> all) {
  const Tensor& first = all[0];
  must(is_float(first) || first.scalar_type() == ScalarType::BFloat16, "float32 or bfloat16");
  for (const Tensor& each : all) {
    must(each.scalar_type() == first.scalar_type(), "one dtype");
    must(each.dim() == first.dim(), "one shape");
    for (int64_t d = 0; d < each.dim(); ++d) must(each.size(d) == first.size(d), "one shape");
  }
}

double sigmoid(double x) { return 0.5 + 0.5 * std::tanh(0.5 * x); }

Tensor fresh(const Tensor& like) { return torch::stable::new_empty(like, like.sizes()); }

Tensor silu_mul(Tensor gate, Tensor up) {
  must_fit({gate, up});
  Tensor out = fresh(gate);
  for (int64_t i = 0; i < gate.numel(); ++i) {
    double g = load(gate, i);
    store(out, i, g * sigmoid(g) * load(up, i));
  }
  return out;
}

std::tuple<Tensor, Tensor> silu_mul_backward(Tensor dy, Tensor gate, Tensor up) {
  must_fit({gate, up, dy});
  std::array<Tensor, 2> out{fresh(gate), fresh(gate)};
  for (int64_t i = 0; i < gate.numel(); ++i) {
    double g = load(gate, i), s = sigmoid(g), d = load(dy, i);
    store(out[1], i, d * g * s);
    store(out[0], i, d * load(up, i) * (s + g * s * sigmoid(-g)));
  }
  return {out[0], out[1]};
}

Tensor add_rms_norm(Tensor x, Tensor residual, Tensor weight, double eps) {
  must_fit({x, residual});
  must(x.dim() >= 1 && weight.dim() == 1, "rows and a weight");
  must(weight.scalar_type() == x.scalar_type(), "one dtype");
  int64_t width = x.size(x.dim() - 1);
  must(weight.size(0) == width, "a weight as long as a row");
  Tensor out = fresh(x);
  for (int64_t start = 0; start < x.numel(); start += width) {
    double squares = 0;
    for (int64_t e = width - 1; e >= 0; --e) {
      store(residual, start + e, load(residual, start + e) + load(x, start + e));
      squares += std::pow(load(residual, start + e), 2);
    }
    for (int64_t e = 0; e < width; ++e) {
      double normed = load(residual, start + e) / std::sqrt(squares / width + eps);
      store(out, start + e, normed * load(weight, e));
    }
  }
  return out;
}

Tensor int4_linear(Tensor x, Tensor packed, Tensor scale, Tensor zero, int64_t group) {
  must_fit({x});
  must(x.dim() == 2 && packed.dim() == 2, "matrices");
  int64_t rows = x.size(0), columns = x.size(1), outputs = packed.size(0);
  must(group >= 1 && columns % group == 0 && columns == 2 * packed.size(1), "columns that fit");
  for (const Tensor* each : {&scale, &zero}) {
    must(each->dim() == 2 && each->size(0) == outputs && each->size(1) == columns / group,
         "groups that fit");
  }
  must(is_float(scale) && zero.scalar_type() == ScalarType::Byte, "float32 scales, uint8 zeros");
  must(packed.scalar_type() == ScalarType::Byte, "uint8 codes");
  std::array<int64_t, 2> shape{rows, outputs};
  Tensor out = torch::stable::new_empty(x, {shape.data(), 2});
  const uint8_t* bytes = packed.const_data_ptr<uint8_t>();
  const uint8_t* zeros = zero.const_data_ptr<uint8_t>();
  for (int64_t n = 0; n < rows * outputs; ++n) {
    int64_t m = n / outputs, o = n % outputs;
    double sum = 0;
    for (int64_t i = 0; i < columns; ++i) {
      int64_t at = o * (columns / group) + i / group;
      int code = bytes[place(packed, o * columns / 2 + i / 2)] >> (i % 2 * 4) & 15;
      sum += load(x, m * columns + i) * (code - zeros[place(zero, at)]) * load(scale, at);
    }
    store(out, n, sum);
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
