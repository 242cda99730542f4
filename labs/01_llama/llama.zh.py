# en: d85b25925d03
"""实验 01：从零写一个 Llama。四个公式，由它们组成的模型，包在模型外面的引擎。

从上到下填写函数体；`make grade LAB=1` 会告诉你目前哪些契约成立。可以随意添加辅助函数，但这里已有的
名字和参数要保持不变。README.zh.md 为每个任务算了一个例子。

字母：B 序列数，T 新 token 数，S 上下文位置数，H query head 数，G key/value head 数，D head 宽度，
E 模型宽度，F MLP 中间层宽度，V 词表大小。
"""

from torch import Tensor, nn

from labs.common import LlamaConfig

# --- norm ------------------------------------------------------------------------------------


def rms_norm(
    x: Tensor,  # [..., E]
    weight: Tensor,  # [E]，任意 dtype
    eps: float,
) -> Tensor:  # [..., E]，dtype 与 x 相同
    """把最后一维缩放到均方根为 1，再乘以 ``weight``。"""
    raise NotImplementedError("norm: rms_norm")


# --- rope ------------------------------------------------------------------------------------


def apply_rope(
    x: Tensor,  # [B, H, T, D]
    positions: Tensor,  # [B, T] int64，顺序任意，每一行各有自己的位置
    theta: float,
) -> Tensor:  # [B, H, T, D]，dtype 与 x 相同
    """把每一对 (x[i], x[i + D/2]) 旋转角度 position * theta**(-2i/D)。"""
    raise NotImplementedError("rope: apply_rope")


# --- attention -------------------------------------------------------------------------------


def attention(
    q: Tensor,  # [B, H, T, D]
    k: Tensor,  # [B, G, S, D]，T <= S，H 是 G 的倍数
    v: Tensor,  # [B, G, S, D]
) -> Tensor:  # [B, H, T, D]，dtype 与 q 相同
    """因果注意力：最后一个 query 能看到最后一个 key，第 h 个 query head 读第 h // (H / G) 个 head。

    若 T > S，或 H 不是 G 的倍数，抛出 ValueError。
    """
    raise NotImplementedError("attention: attention")


# --- mlp -------------------------------------------------------------------------------------


def swiglu(
    x: Tensor,  # [..., E]
    w_gate: Tensor,  # [F, E]
    w_up: Tensor,  # [F, E]
    w_down: Tensor,  # [E, F]
) -> Tensor:  # [..., E]，dtype 与 x 相同
    """返回 w_down (silu(w_gate x) * w_up x)。"""
    raise NotImplementedError("mlp: swiglu")


# --- model -----------------------------------------------------------------------------------


class Llama(nn.Module):
    """tokens [B, T] -> logits [B, T, V]：每个位置之后可能出现什么。"""

    def __init__(self, config: LlamaConfig, weights: dict[str, Tensor]) -> None:
        """保存权重；权重以 Hugging Face 的名字为键（讲义中列出）。

        若 ``config.tie_word_embeddings`` 为真，就没有 lm_head，由嵌入矩阵代替。
        """
        super().__init__()
        raise NotImplementedError("model: Llama.__init__")

    def forward(self, tokens: Tensor) -> Tensor:  # [B, T] int64 -> [B, T, V]
        """返回每个位置的下一个 token 的 logits。"""
        raise NotImplementedError("model: Llama.forward")


# --- engine ----------------------------------------------------------------------------------


class Engine:
    """输入文本，输出文本，一次一条序列。"""

    def __init__(self, model_path: str) -> None:
        """加载一个 checkpoint 目录里的配置、权重和 tokenizer。"""
        raise NotImplementedError("engine: Engine.__init__")

    def generate(self, prompt: list[int], max_new_tokens: int) -> list[int]:
        """返回贪心续写：不含 prompt，也不含结束它的 EOS。

        ``config.eos_token_ids`` 中任何一个 id 都结束生成。prompt 为空时抛出 ValueError。
        """
        raise NotImplementedError("engine: Engine.generate")

    def execute(
        self, prompts: list[str], max_new_tokens: int = 128, temperature: float = 0.0
    ) -> list[str]:
        """按顺序返回每个 prompt 的续写，不含 prompt。

        温度为 0 时贪心；大于 0 时，token 从 softmax(logits / temperature) 中抽取。
        """
        raise NotImplementedError("engine: Engine.execute")
