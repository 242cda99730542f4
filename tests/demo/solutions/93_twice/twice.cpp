// Twice: one loop over a contiguous tensor.

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

Tensor twice(Tensor x) {
  STD_TORCH_CHECK(x.scalar_type() == ScalarType::Float, "x must be float32");
  STD_TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
  Tensor out = torch::stable::new_empty(x, x.sizes());
  const float* from = x.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = 2 * from[i];
  return out;
}

STABLE_TORCH_LIBRARY(demo93, m) { m.def("twice(Tensor x) -> Tensor"); }

STABLE_TORCH_LIBRARY_IMPL(demo93, CPU, m) { m.impl("twice", TORCH_BOX(&twice)); }
