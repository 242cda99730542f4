// Operators on a GPU, against the stable headers: kernels for the schemas of operators.cpp.
//
// Letters: F features of an MLP, E features of a model, M rows.
//
// Views that are not contiguous are copied first: a model's are rare, and the kernels stay plain.

#include <cuda_runtime.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/macros.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/BFloat16.h>

#include <algorithm>
#include <cstdint>
#include <tuple>

using torch::headeronly::BFloat16;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;
using torch::stable::accelerator::DeviceGuard;

namespace {

constexpr int THREADS = 256;  // of a block
constexpr int WARP = 32;
constexpr int64_t MOST_BLOCKS = 65536;  // of the norm: more rows than that are taken in turn

void check_float(const Tensor& t, const char* name) {
  ScalarType dtype = t.scalar_type();
  STD_TORCH_CHECK(dtype == ScalarType::Float || dtype == ScalarType::BFloat16, name,
                  " must be float32 or bfloat16");
  STD_TORCH_CHECK(t.is_cuda(), name, " must be on a GPU");
}

void check_beside(const Tensor& t, const char* name, const Tensor& other) {
  STD_TORCH_CHECK(t.scalar_type() == other.scalar_type(), name, " has another dtype");
  STD_TORCH_CHECK(t.is_cuda() && t.get_device_index() == other.get_device_index(), name,
                  " must be on the same GPU");
}

void check_alike(const Tensor& t, const char* name, const Tensor& other) {
  check_beside(t, name, other);
  bool same = t.dim() == other.dim();
  for (int64_t d = 0; same && d < t.dim(); ++d) same = t.size(d) == other.size(d);
  STD_TORCH_CHECK(same, name, " has another shape");
}

Tensor new_like(const Tensor& like) { return torch::stable::new_empty(like, like.sizes()); }

// The stream that torch's own operators would be launched on now.
cudaStream_t current_stream(const Tensor& t) {
  void* stream = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(t.get_device_index(), &stream));
  return static_cast<cudaStream_t>(stream);
}

// N elements that one instruction loads or stores: 16 bytes, if they lie at a multiple of 16.
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T values[N];
};

template <typename T>
constexpr int PACKED = 16 / sizeof(T);

bool is_aligned(const void* place) { return reinterpret_cast<uintptr_t>(place) % 16 == 0; }

__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// The first of the N elements that are this thread's.
template <int N>
__device__ int64_t first_index() {
  return (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
}

template <typename T>
__device__ T silu_mul_of(T gate, T up) {
  float x = static_cast<float>(gate);
  return static_cast<T>(x * sigmoid(x) * static_cast<float>(up));
}

template <typename T, int N>
__global__ void silu_mul_kernel(T* out, const T* gate, const T* up, int64_t count) {
  int64_t first = first_index<N>();
  if (first + N <= count) {
    Pack<T, N> g = *reinterpret_cast<const Pack<T, N>*>(gate + first);
    Pack<T, N> u = *reinterpret_cast<const Pack<T, N>*>(up + first);
#pragma unroll
    for (int k = 0; k < N; ++k) g.values[k] = silu_mul_of(g.values[k], u.values[k]);
    *reinterpret_cast<Pack<T, N>*>(out + first) = g;
  } else {
    for (int64_t i = first; i < count; ++i) out[i] = silu_mul_of(gate[i], up[i]);
  }
}

// Blocks of threads with N elements each; int64, as grids of one axis may have 2^31 - 1.
unsigned int blocks_for(int64_t count, int64_t each) {
  int64_t own = THREADS * each;
  return static_cast<unsigned int>((count + own - 1) / own);
}

template <typename T>
void launch_silu_mul(Tensor& out, const Tensor& gate, const Tensor& up) {
  const T* g = gate.const_data_ptr<T>();
  const T* u = up.const_data_ptr<T>();
  T* o = out.mutable_data_ptr<T>();
  int64_t count = gate.numel();
  cudaStream_t stream = current_stream(gate);
  if (is_aligned(g) && is_aligned(u)) {
    constexpr int N = PACKED<T>;
    silu_mul_kernel<T, N><<<blocks_for(count, N), THREADS, 0, stream>>>(o, g, u, count);
  } else {
    silu_mul_kernel<T, 1><<<blocks_for(count, 1), THREADS, 0, stream>>>(o, g, u, count);
  }
  STD_CUDA_KERNEL_LAUNCH_CHECK();
}

Tensor silu_mul(Tensor gate, Tensor up) {
  check_float(gate, "gate");
  check_alike(up, "up", gate);
  DeviceGuard guard(gate.get_device_index());
  Tensor out = new_like(gate);
  if (gate.numel() == 0) return out;  // a grid of no blocks is an error
  gate = torch::stable::contiguous(gate);
  up = torch::stable::contiguous(up);
  if (gate.scalar_type() == ScalarType::Float) {
    launch_silu_mul<float>(out, gate, up);
  } else {
    launch_silu_mul<BFloat16>(out, gate, up);
  }
  return out;
}

template <typename T>
__global__ void silu_mul_backward_kernel(T* dgate, T* dup, const T* dy, const T* gate,
                                         const T* up, int64_t count) {
  int64_t i = first_index<1>();
  if (i >= count) return;
  float x = static_cast<float>(gate[i]);
  float y = static_cast<float>(dy[i]);
  float s = sigmoid(x);
  dup[i] = static_cast<T>(y * x * s);
  dgate[i] = static_cast<T>(y * static_cast<float>(up[i]) * s * (1.0f + x * (1.0f - s)));
}

template <typename T>
void launch_silu_mul_backward(Tensor& dgate, Tensor& dup, const Tensor& dy, const Tensor& gate,
                              const Tensor& up) {
  int64_t count = gate.numel();
  silu_mul_backward_kernel<T><<<blocks_for(count, 1), THREADS, 0, current_stream(gate)>>>(
      dgate.mutable_data_ptr<T>(), dup.mutable_data_ptr<T>(), dy.const_data_ptr<T>(),
      gate.const_data_ptr<T>(), up.const_data_ptr<T>(), count);
  STD_CUDA_KERNEL_LAUNCH_CHECK();
}

std::tuple<Tensor, Tensor> silu_mul_backward(Tensor dy, Tensor gate, Tensor up) {
  check_float(gate, "gate");
  check_alike(up, "up", gate);
  check_alike(dy, "dy", gate);
  DeviceGuard guard(gate.get_device_index());
  Tensor dgate = new_like(gate), dup = new_like(gate);
  if (gate.numel() == 0) return {dgate, dup};
  dy = torch::stable::contiguous(dy);
  gate = torch::stable::contiguous(gate);
  up = torch::stable::contiguous(up);
  if (gate.scalar_type() == ScalarType::Float) {
    launch_silu_mul_backward<float>(dgate, dup, dy, gate, up);
  } else {
    launch_silu_mul_backward<BFloat16>(dgate, dup, dy, gate, up);
  }
  return {dgate, dup};
}

// The sum over all threads of a block, which all of them get.
__device__ float sum_of_block(float value) {
  __shared__ float of_warp[THREADS / WARP];
  for (int step = WARP / 2; step > 0; step /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, step);
  }
  __syncthreads();  // what the row before has left there is read by now
  if (threadIdx.x % WARP == 0) of_warp[threadIdx.x / WARP] = value;
  __syncthreads();
  float sum = 0.0f;
  for (float part : of_warp) sum += part;
  return sum;
}

// A row is a block's; each thread comes back to the elements that it has written itself.
template <typename T>
__global__ void add_rms_norm_kernel(T* out, const T* x, T* residual, const T* weight, int64_t rows,
                                    int64_t width, float eps) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    int64_t start = row * width;
    float squares = 0.0f;
    for (int64_t e = threadIdx.x; e < width; e += THREADS) {
      float sum = static_cast<float>(x[start + e]) + static_cast<float>(residual[start + e]);
      T kept = static_cast<T>(sum);
      residual[start + e] = kept;
      float value = static_cast<float>(kept);  // what is kept is what is normed
      squares += value * value;
    }
    float mean = sum_of_block(squares) / static_cast<float>(width);
    float scale = 1.0f / sqrtf(mean + eps);
    for (int64_t e = threadIdx.x; e < width; e += THREADS) {
      float value = static_cast<float>(residual[start + e]);
      out[start + e] = static_cast<T>(value * scale * static_cast<float>(weight[e]));
    }
  }
}

template <typename T>
void launch_add_rms_norm(Tensor& out, const Tensor& x, Tensor& residual, const Tensor& weight,
                         double eps) {
  int64_t width = weight.size(0);
  int64_t rows = x.numel() / width;
  unsigned int blocks = static_cast<unsigned int>(std::min(rows, MOST_BLOCKS));
  add_rms_norm_kernel<T><<<blocks, THREADS, 0, current_stream(x)>>>(
      out.mutable_data_ptr<T>(), x.const_data_ptr<T>(), residual.mutable_data_ptr<T>(),
      weight.const_data_ptr<T>(), rows, width, static_cast<float>(eps));
  STD_CUDA_KERNEL_LAUNCH_CHECK();
}

Tensor add_rms_norm(Tensor x, Tensor residual, Tensor weight, double eps) {
  check_float(x, "x");
  check_alike(residual, "residual", x);
  check_beside(weight, "weight", x);
  STD_TORCH_CHECK(x.dim() >= 1 && weight.dim() == 1 && weight.size(0) == x.size(x.dim() - 1),
                  "weight must have as many elements as the last dimension of x");
  DeviceGuard guard(x.get_device_index());
  Tensor out = new_like(x);
  if (x.numel() == 0) return out;
  x = torch::stable::contiguous(x);
  weight = torch::stable::contiguous(weight);
  bool in_place = residual.is_contiguous();
  Tensor sums = torch::stable::contiguous(residual);  // itself, if it is
  if (x.scalar_type() == ScalarType::Float) {
    launch_add_rms_norm<float>(out, x, sums, weight, eps);
  } else {
    launch_add_rms_norm<BFloat16>(out, x, sums, weight, eps);
  }
  if (!in_place) torch::stable::copy_(residual, sums);
  return out;
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(inferlab15, CUDA, m) {
  m.impl("silu_mul", TORCH_BOX(&silu_mul));
  m.impl("silu_mul_backward", TORCH_BOX(&silu_mul_backward));
  m.impl("add_rms_norm", TORCH_BOX(&add_rms_norm));
}
