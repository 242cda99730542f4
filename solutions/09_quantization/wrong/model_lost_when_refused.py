"""Layers are replaced in the model, and put back: but not where from_float raises.

From: variants/simple.py
Fails: model
"""


def quantize_model(
    model: nn.Module, linear_cls: Any, skip: Collection[str] = ("lm_head",)
) -> nn.Module:
    places = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent._modules.items()
        if isinstance(child, nn.Linear) and name not in skip
    ]
    made: dict[nn.Module, nn.Module] = {}
    for parent, name, child in places:
        if child not in made:
            made[child] = linear_cls.from_float(child)
        parent._modules[name] = made[child]
    new = copy.deepcopy(model)
    for parent, name, child in places:
        parent._modules[name] = child
    return new
