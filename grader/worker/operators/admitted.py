"""Which of torch's operators run where the submission is not, by what it asks for.

Those of a list, and all that torch calls pointwise. Each finds out itself whether sizes and indices
fit what it is given; none reads a file, lends memory or gives a tensor another storage.
"""

import functools

import torch

# By base names, whose underscores say less than they seem to.
ADMITTED = frozenset(
    """
    assert_async assert_tensor_metadata alias allclose arange as_strided as_strided_copy
    as_strided_scatter alias_copy block_diag broadcast_tensors broadcast_to cat chunk clone
    column_stack concat concatenate constant_pad_nd contiguous copy detach detach_copy diag
    diag_embed diagflat diagonal diagonal_copy diagonal_scatter dstack empty empty_like
    empty_permuted empty_strided equal expand expand_as expand_copy eye fill flatten flip fliplr
    flipud full full_like hstack is_nonzero is_same_size item lift lift_fresh lift_fresh_copy
    linspace local_scalar_dense logspace meshgrid moveaxis movedim narrow narrow_copy new_empty
    new_empty_strided new_full new_ones new_zeros ones ones_like pad permute permute_copy
    pixel_shuffle pixel_unshuffle ravel repeat repeat_interleave reshape reshape_as reshape_copy
    resolve_conj resolve_neg roll rot90 scalar_tensor select select_copy select_scatter slice
    slice_copy slice_inverse slice_scatter split split_copy split_with_sizes split_with_sizes_copy
    squeeze squeeze_copy stack swapaxes swapdims t t_copy tensor_split tile to to_copy transpose
    transpose_copy tril tril_indices triu triu_indices type_as unbind unbind_copy unflatten unfold
    unfold_copy unsafe_chunk unsafe_split unsafe_split_with_sizes unsafe_view unsqueeze
    unsqueeze_copy view view_as view_copy vstack zero zeros zeros_like

    embedding gather index index_add index_copy index_fill index_put index_put_impl index_reduce
    index_select masked_fill masked_scatter masked_select nonzero nonzero_static one_hot put scatter
    scatter_add scatter_reduce take take_along_dim unsafe_index unsafe_index_put unsafe_masked_index
    where

    all amax amin aminmax any argmax argmin argsort bincount bucketize count_nonzero cummax cummin
    cumprod cumsum diff histc is_all_true is_any_true isin kthvalue logcumsumexp logsumexp max mean
    median min mode msort nanmean nanmedian nanquantile nansum norm prod quantile renorm
    searchsorted sort std std_mean sum sum_to_size topk trace unique unique2 unique_consecutive
    unique_dim unique_dim_consecutive var var_mean

    addbmm addmm addmm_activation addmv addr baddbmm bilinear bmm chain_matmul convolution conv1d
    cross dot einsum ger grouped_mm inner int_mm kron linear matmul mm mv outer scaled_mm tensordot
    trilinear vdot weight_int8pack_mm linalg_cross linalg_matmul linalg_matrix_norm linalg_multi_dot
    linalg_norm linalg_vecdot linalg_vector_norm linalg_cholesky_ex linalg_det linalg_eigh
    linalg_inv_ex linalg_qr linalg_solve_ex linalg_svd

    conj conj_physical complex imag neg_view polar real view_as_complex view_as_complex_copy
    view_as_real view_as_real_copy

    fused_rms_norm glu group_norm layer_norm log_softmax native_group_norm native_layer_norm
    rms_norm safe_softmax scaled_dot_product_attention_math scaled_dot_product_efficient_attention
    scaled_dot_product_flash_attention scaled_dot_product_flash_attention_for_cpu
    scaled_dot_product_fused_attention_overrideable scaled_dot_product_attention softmax
    softmax_backward_data log_softmax_backward_data select_backward slice_backward diagonal_backward
    glu_backward

    add_relu and divide floor_divide greater greater_equal ilshift ior irshift ixor less less_equal
    lshift multiply negative not_equal or prelu prelu_kernel rshift subtract true_divide xor

    foreach_abs foreach_add foreach_addcdiv foreach_addcmul foreach_clamp_max foreach_clamp_min
    foreach_copy foreach_div foreach_exp foreach_log foreach_maximum foreach_minimum foreach_mul
    foreach_neg foreach_norm foreach_pow foreach_reciprocal foreach_rsqrt foreach_sqrt foreach_sub
    foreach_zero
    """.split()
)

# What draws numbers.
RANDOM = frozenset(
    """
    bernoulli cauchy dropout exponential fused_dropout geometric log_normal multinomial
    native_dropout normal normal_functional rand rand_like randint randint_like randn randn_like
    random randperm uniform
    """.split()
)


@functools.cache
def is_admitted(name: str) -> bool:
    """Tell whether an aten operator runs, by its name without the overload's."""
    base = name.strip("_")
    return base in ADMITTED or base in RANDOM or is_pointwise(base)


def is_pointwise(base: str) -> bool:
    """Tell whether torch calls an operator pointwise in any of its forms."""
    packet = getattr(torch.ops.aten, base, None) if base.isidentifier() else None
    forms = () if packet is None else packet.overloads()
    return any(torch.Tag.pointwise in getattr(packet, form).tags for form in forms)
