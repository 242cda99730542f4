// en: e4c2ac9cbbdf
// GPU 上的算子，实验 15：为 operators.cpp 中的三个 schema 写 kernel，后者先加载。
// 字母：F 是 MLP 的特征数，E 是模型的特征数，M 行。

#include <cuda_runtime.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/macros.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/BFloat16.h>

using torch::headeronly::BFloat16;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// silu_mul：gate * sigmoid(gate) * up，[..., F]。
Tensor silu_mul(Tensor gate, Tensor up) {
  STD_TORCH_CHECK(false, "silu_mul is still to be written for a GPU");
}

// silu_mul_backward 和 add_rms_norm 也用同样的方式注册。
STABLE_TORCH_LIBRARY_IMPL(inferlab15, CUDA, m) { m.impl("silu_mul", TORCH_BOX(&silu_mul)); }
