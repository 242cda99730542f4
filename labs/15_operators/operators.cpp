// Operators, lab 15. Letters: F features of an MLP, E features of a model, M rows, I inputs,
// O outputs of a layer.

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/BFloat16.h>

using torch::headeronly::BFloat16;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// silu_mul: gate * sigmoid(gate) * up, [..., F].
Tensor silu_mul(Tensor gate, Tensor up) {
  STD_TORCH_CHECK(false, "silu_mul is still to be written");
}

// The other three, their schemas and their kernels are registered in the same way.
STABLE_TORCH_LIBRARY(inferlab15, m) { m.def("silu_mul(Tensor gate, Tensor up) -> Tensor"); }

STABLE_TORCH_LIBRARY_IMPL(inferlab15, CPU, m) { m.impl("silu_mul", TORCH_BOX(&silu_mul)); }
