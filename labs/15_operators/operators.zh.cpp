// en: 881a45b93915
// 算子，实验 15。字母：F 是 MLP 的特征数，E 是模型的特征数，M 行，一层的 I 个输入、
// O 个输出。

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/BFloat16.h>

using torch::headeronly::BFloat16;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// silu_mul：gate * sigmoid(gate) * up，[..., F]。
Tensor silu_mul(Tensor gate, Tensor up) {
  STD_TORCH_CHECK(false, "silu_mul is still to be written");
}

// 另外三个的 schema 和 kernel 也用同样的方式注册。
STABLE_TORCH_LIBRARY(inferlab15, m) { m.def("silu_mul(Tensor gate, Tensor up) -> Tensor"); }

STABLE_TORCH_LIBRARY_IMPL(inferlab15, CPU, m) { m.impl("silu_mul", TORCH_BOX(&silu_mul)); }
