"""The training loop of the checkpoints: plain next-token prediction, or distillation on top."""

import copy
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

DISTILLED_SHARE = 0.7  # of a student's loss; the rest is the text itself
DECAY, CLIP, WARMUP, FINAL_RATE = 0.1, 1.0, 200, 0.02  # the last: share of the peak rate


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to train one model."""

    steps: int
    batch: int  # windows of ``context`` tokens
    context: int
    peak: float  # learning rate
    dropout: float  # on what each layer adds to the residual stream
    seed: int
    device: str
    compiled: bool
    report_every: int

    def rate(self, step: int) -> float:
        """Linear warm-up, then a cosine down to ``FINAL_RATE`` of the peak."""
        warmup = min(WARMUP, self.steps // 10 + 1)
        if step < warmup:
            return self.peak * (step + 1) / warmup
        done = (step - warmup) / max(1, self.steps - warmup)
        return self.peak * (FINAL_RATE + (1 - FINAL_RATE) * (1 + math.cos(math.pi * done)) / 2)


def train(
    model: Any,
    text: Tensor,  # int64 [N] training tokens
    validation: Tensor,  # int64 [N]
    recipe: Recipe,
    folder: Path,
    teacher: Any = None,
) -> None:
    """Train in place and save into ``folder`` whenever the validation loss is the best so far."""
    text, validation = text.to(recipe.device), validation.to(recipe.device)
    run = torch.compile(model) if recipe.compiled else model
    guide = torch.compile(teacher) if recipe.compiled and teacher is not None else teacher
    _add_dropout(model, recipe.dropout)
    optimizer = _optimizer(model, recipe.peak)
    generator = torch.Generator(recipe.device).manual_seed(recipe.seed)
    best, started = math.inf, time.perf_counter()
    for step in range(recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate(step)
        with _autocast(recipe.device):
            loss = _loss(run, guide, _draw(text, recipe, generator))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if (step + 1) % recipe.report_every and step + 1 < recipe.steps:
            continue
        now = _validate(model, validation, recipe)
        if now < best:
            best = now
            copy.deepcopy(model).to(torch.bfloat16).save_pretrained(folder)
        epochs = (step + 1) * recipe.batch * recipe.context / len(text)
        print(
            f"{folder.name} {step + 1}/{recipe.steps}, {epochs:.1f} epochs, loss {loss.item():.3f},"
            f" validation {now:.4f}, best {best:.4f}, {time.perf_counter() - started:.0f} s",
            flush=True,
        )


def _add_dropout(model: Any, share: float) -> None:
    """Drop what each layer adds: transformers' Llama has no such option, and the text is small."""
    for layer in model.model.layers:
        for module in (layer.self_attn.o_proj, layer.mlp.down_proj):
            module.register_forward_hook(lambda m, _, y: F.dropout(y, share, m.training))
    model.train()


def _draw(text: Tensor, recipe: Recipe, generator: torch.Generator) -> Tensor:
    """Return random windows, int64 [B, context + 1]."""
    starts = torch.randint(
        len(text) - recipe.context, (recipe.batch, 1), generator=generator, device=text.device
    )
    return text[starts + torch.arange(recipe.context + 1, device=text.device)]


def _loss(model: Any, teacher: Any, windows: Tensor) -> Tensor:
    """Return the mean cross-entropy, mixed with that against the teacher where there is one."""
    inputs, nexts = windows[:, :-1], windows[:, 1:]
    log_q = model(inputs).logits.float().log_softmax(-1)
    text = F.nll_loss(log_q.flatten(0, 1), nexts.flatten())
    if teacher is None:
        return text
    with torch.no_grad():
        p = teacher(inputs).logits.float().softmax(-1)
    return (1 - DISTILLED_SHARE) * text - DISTILLED_SHARE * (p * log_q).sum(-1).mean()


@torch.no_grad()
def _validate(model: Any, tokens: Tensor, recipe: Recipe) -> float:
    """Return nats per token over the full windows of the validation files."""
    count = (len(tokens) - 1) // recipe.context
    windows = tokens[: count * recipe.context + 1].unfold(0, recipe.context + 1, recipe.context)
    total = 0.0
    model.eval()
    for part in windows.split(recipe.batch):
        with _autocast(recipe.device):
            total += _loss(model, None, part).item() * len(part)
    model.train()
    return total / count


def _optimizer(model: Any, peak: float) -> torch.optim.AdamW:
    """AdamW; only matrices decay."""
    matrices = [p for p in model.parameters() if p.ndim == 2]
    vectors = [p for p in model.parameters() if p.ndim == 1]
    groups = [{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=peak, betas=(0.9, 0.95), fused=True)


def _autocast(device: str) -> torch.autocast:
    return torch.autocast(device, torch.bfloat16, enabled=device == "cuda")
