"""A training step of PyTorch 2, as its users write it (eager) and as one compiled graph."""

import torch
from torch.func import functional_call, grad_and_value


def make_step(model, loss, compiled, mode=None, bfloat16=False):
    """A function of the batch's tensors that trains `model` with Adam 1e-3 and returns the loss of before.

    `loss` takes the model, to be called, and the same tensors. With `bfloat16` it runs under autocast.
    """
    if bfloat16:
        in_float = loss

        def loss(*arguments):
            with torch.autocast("cpu", torch.bfloat16):
                return in_float(*arguments)

    return compiled_step(model, loss, mode) if compiled else eager_step(model, loss)


def eager_step(model, loss):
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)

    def step(*batch):
        value = loss(model, *batch)
        value.backward()
        optimizer.step()
        optimizer.zero_grad()
        return value.detach()

    return step


def compiled_step(model, loss, mode):
    """Forward, backward and Adam in one graph, which also fuses each gradient's last loop with its update."""
    parameters = {name: value.detach() for name, value in model.named_parameters()}
    means = {name: torch.zeros_like(value) for name, value in parameters.items()}
    variances = {name: torch.zeros_like(value) for name, value in parameters.items()}

    def loss_of(values, *batch):
        return loss(lambda *inputs: functional_call(model, values, inputs), *batch)

    @torch.compile(dynamic=False, mode=mode)
    def update(rate, epsilon, *batch):
        gradients, value = grad_and_value(loss_of)(parameters, *batch)
        for name, parameter in parameters.items():
            gradient, mean, variance = gradients[name], means[name], variances[name]
            mean.mul_(0.9).add_(gradient, alpha=0.1)
            variance.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
            parameter.sub_(rate * mean / (variance.sqrt() + epsilon))
        return value

    steps = 0

    @torch.no_grad()
    def step(*batch):
        nonlocal steps
        steps += 1
        # As tensors: a number would be a constant of the graph, and every step a compilation.
        correction = (1 - 0.999**steps) ** 0.5
        rate = torch.tensor(1e-3 * correction / (1 - 0.9**steps))
        return update(rate, torch.tensor(1e-8 * correction), *batch)

    return step


def train_epoch(step, images, labels, batch):
    """One pass in a new random order; the mean loss."""
    total = torch.zeros(())
    for chosen in torch.randperm(len(images)).split(batch):
        total += step(images, labels, chosen) * len(chosen)
    return total.item() / len(images)
