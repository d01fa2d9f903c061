"""glia's u_net with batch normalization in PyTorch 2."""

import torch
from torch import nn


def double_convolution(inputs, outputs):
    layers = []
    for channels in (inputs, outputs):
        layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.01),
                   nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    def __init__(self, classes, filters, depth, channels=3):
        super().__init__()
        widths = [filters << level for level in range(depth + 1)]
        self.encoder = nn.ModuleList(double_convolution(i, o) for i, o in zip([channels, *widths], widths[:-1]))
        self.bottom = double_convolution(widths[-2], widths[-1])
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in widths[-2::-1])
        self.decoder = nn.ModuleList(double_convolution(2 * w, w) for w in widths[-2::-1])
        self.logits = nn.Conv2d(filters, classes, 1)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        levels = []
        for level in self.encoder:
            x = level(x)
            levels.append(x)
            x = self.pool(x)
        x = self.bottom(x)
        for up, level in zip(self.up, self.decoder):
            x = level(torch.cat([levels.pop(), up(x)], 1))
        return self.logits(x)
