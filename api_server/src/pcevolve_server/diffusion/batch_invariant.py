"""Make results independent of the batch: a small network computes each row alike, with any number of other rows.

A library chooses its kernels by the shape of the input, and different kernels add in different orders. On a
processor, PyTorch computes the convolution of one image with another library than that of two images. Below
16 images it computes convolutions of single pixels differently, and it has another kernel for products with
few rows. Here oneDNN computes every convolution, and the weights are laid out once. A product has at least
four rows, or 32 in bfloat16. In bfloat16, a wide product always has 128 rows.

Whether two batch sizes then give equal bits depends on oneDNN and on the processor. Each combination of shape,
size and number of threads is therefore tested once before it is used: random values pass through the whole
network, and the results are compared bit by bit. A batch is cut into pieces of sizes that agree. If the largest
size agrees with no other, smaller batches are padded to it, and one image takes as long as a full piece.

This module is for small networks, which full batches make several times faster. A large network takes about
the same time for each image in any batch. GPUs do not choose kernels by shapes alone.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import torch
from diffusers import AutoencoderKL, DiffusionPipeline, UNet2DConditionModel
from diffusers.models.autoencoders.vae import DecoderOutput
from diffusers.models.unets.unet_2d_condition import UNet2DConditionOutput
from torch import Tensor, nn
from torch.nn import functional

from pcevolve_server.diffusion.numerics import convert

IMAGES: Final = 32
"""Largest number of images in a piece for the denoiser."""
PADDED: Final = 16
"""Number of images in a piece if all pieces have one size.

All pieces have one size if results of different sizes disagree, or if the network is compiled.
"""
_DECODED: Final = 8
"""Largest number of images in a piece for the decoder. Larger pieces are no faster."""
_PIECE_PIXELS: Final = 8192
"""Largest number of pixels of a piece's latents. A larger image alone uses the whole processor."""
_SIZES: Final = (1, 2, 4, 8, 16, 32)

Forward = Callable[..., Any]


def make_batch_invariant(denoiser: UNet2DConditionModel, compiled: bool = False) -> BatchInvariant:
    """Make a small UNet compute each row alike, in batches of any size.

    Args:
        denoiser: The network. Its ``forward`` is replaced.
        compiled: Whether the network will be compiled. In that case its kernels are not replaced.
    """
    if not compiled:
        _fix_kernels(denoiser)
    found = BatchInvariant(denoiser.forward)
    denoiser.forward = found
    return found


def make_decoder_batch_invariant(autoencoder: AutoencoderKL) -> None:
    """Make an autoencoder decode each row alike, in batches of any size. It encodes one image at a time anyway."""
    _fix_kernels(autoencoder)
    decode = autoencoder.decode
    pieces = Pieces(lambda z, **named: decode(z, return_dict=False, **named)[0], _DECODED)

    def decode_in_pieces(z: Tensor, return_dict: bool = True, **named: Any) -> DecoderOutput | tuple[Tensor]:  # noqa: ANN401
        sample = pieces.run(z, **named)
        return DecoderOutput(sample=sample) if return_dict else (sample,)

    autoencoder.decode = decode_in_pieces


def fix_device(pipeline: DiffusionPipeline) -> None:
    """Store the device of a pipeline's networks.

    The pipeline would otherwise search all layers of all networks, five times in a run. The searches take a tenth
    of the time of a single image.
    """
    kind, device = type(pipeline), pipeline._execution_device
    pipeline.__class__ = type(kind.__name__, (kind,), {"_execution_device": device})


class BatchInvariant:
    """A UNet's ``forward`` that is independent of the batch.

    Attributes:
        guided: Whether an image takes two rows, as with classifier-free guidance.
    """

    def __init__(self, forward: Forward) -> None:
        self._forward = self._compiled = forward
        self._compiled_for: tuple[tuple[int, ...], bool] = (), True
        self._pieces = Pieces(self._predict, IMAGES)
        self.guided = True

    @property
    def padded(self) -> bool:
        """True if a single image takes as long as a full piece, for any shape tested so far."""
        return self._pieces.padded

    def images(self, height: int, width: int) -> int:
        """Return the largest number of images with one size of latents that run together."""
        return PADDED if self.padded else _most(IMAGES, height * width)

    def compile(self, height: int, width: int, channels: int, guided: bool) -> None:
        """Compile for pieces of one shape, to which smaller pieces are padded. Other shapes are computed as before."""
        each = 2 if guided else 1
        shape = (each * PADDED, channels, height, width)
        self._pieces.fix(shape, each)
        self._compiled_for = shape, guided
        self._compiled = torch.compile(self._forward, dynamic=False)

    def __call__(
        self,
        sample: Tensor,
        *positional: Any,  # noqa: ANN401 - whatever pipelines hand over
        return_dict: bool = True,
        **named: Any,  # noqa: ANN401
    ) -> UNet2DConditionOutput | tuple[Tensor]:
        """Predict like the UNet. Every tensor with a row for each row of the sample is cut together with the sample."""
        predicted = self._pieces.run(sample, *positional, each=2 if self.guided else 1, **named)
        return UNet2DConditionOutput(sample=predicted) if return_dict else (predicted,)

    def _predict(self, sample: Tensor, *positional: Any, **named: Any) -> Tensor:  # noqa: ANN401
        usual = (tuple(sample.shape), self.guided) == self._compiled_for
        forward = self._compiled if usual else self._forward
        made: Tensor = forward(sample, *positional, **named, return_dict=False)[0]
        return made


class Pieces:
    """Cuts a batch into pieces whose sizes agree bit by bit, and runs a network on each piece."""

    def __init__(self, forward: Callable[..., Tensor], most: int) -> None:
        self._forward, self._most = forward, most
        self._fixed: dict[tuple[object, ...], tuple[int, ...]] = {}
        self._agreeing: dict[tuple[object, ...], tuple[int, ...]] = {}

    def fix(self, shape: Sequence[int], each: int) -> None:
        """Use only pieces of one shape for rows of this kind.

        Args:
            each: Number of rows of one image.
        """
        self._fixed[tuple(shape[1:]), each] = (shape[0],)

    @property
    def padded(self) -> bool:
        """True if a single image is padded for any shape that has been run or is fixed."""
        known = [(key[1], sizes) for found in (self._fixed, self._agreeing) for key, sizes in found.items()]
        return any(sizes[0] != each for each, sizes in known)

    def run(self, sample: Tensor, *positional: Any, each: int = 1, **named: Any) -> Tensor:  # noqa: ANN401
        """Compute the answer for all rows.

        Args:
            sample: Has a row for each row of the answer.
            positional: More inputs. Tensors with as many rows as the sample are cut together with it.
            each: Number of rows of one image.
            named: More inputs, treated like ``positional``.
        """
        rows, given = len(sample), ((sample, *positional), named)
        kind = tuple(sample.shape[1:]), each
        sizes = self._fixed.get(kind)
        if sizes is None:
            # Threads share the sums of a kernel, so another number of threads splits the sums differently. Sizes are
            # then compared again.
            key = (*kind, sample.dtype, torch.get_num_threads())
            sizes = self._agreeing[key] = self._agreeing.get(key) or self._agree(given, rows, each)
        return torch.cat([self._piece(given, rows, *cut) for cut in _cuts(rows, sizes)])

    def _piece(self, given: Any, rows: int, start: int, size: int) -> Tensor:  # noqa: ANN401
        """Compute ``size`` rows from ``start`` on. If rows are missing, the last row is repeated."""
        places = torch.arange(start, start + size).clamp(max=rows - 1)
        positional, named = convert(
            given, lambda each: each[places] if each.ndim and len(each) == rows else each
        )
        return self._forward(*positional, **named)[: min(size, rows - start)]

    def _agree(self, given: Any, rows: int, each: int) -> tuple[int, ...]:  # noqa: ANN401
        """Return the numbers of rows that give the same bits as the largest piece, smallest number first.

        The test compares the first row, and the last rows of the largest piece. In smaller pieces these rows have
        other positions.
        """
        sample = given[0][0]
        images = _most(self._most, sample.shape[-2] * sample.shape[-1])
        sizes = [each * size for size in _SIZES if size <= images]
        most, least = sizes[-1], sizes[0]
        if most == least:
            return (most,)
        drawn = convert(given, _random_rows(most, rows))
        full = self._piece(drawn, most, 0, most)
        # The smallest piece is also tried at the first position, because a row's position must not matter either.
        tried = [(size, most - size) for size in sizes[:-1]] + [(least, 0)]
        apart = {
            size
            for size, start in tried
            if not torch.equal(self._piece(drawn, most, start, size), full[start : start + size])
        }
        agreeing = tuple(size for size in sizes if size not in apart)
        # A size that agrees with no other proves nothing. All batches are then padded to one size.
        return agreeing if len(agreeing) > 1 or not apart else (min(most, each * PADDED),)


def _most(images: int, pixels: int) -> int:
    fitting = max(1, _PIECE_PIXELS // pixels)
    return max(size for size in _SIZES if size <= min(images, fitting))


def _cuts(rows: int, sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the start and size of each piece: full pieces first, then a few that need little padding."""
    start = 0
    while start < rows:
        left = rows - start
        enough = next((size for size in sizes if size >= left), sizes[-1])
        below = max((size for size in sizes if size <= left), default=enough)
        # Padding of less than half a piece costs less than another run of the network.
        size = below if left - below < below / 2 else enough
        yield start, size
        start += size


def _random_rows(count: int, rows: int) -> Callable[[Tensor], Tensor]:
    """Return a function that replaces a tensor of ``rows`` rows by ``count`` random ones."""
    noise = torch.Generator().manual_seed(0)

    def drawn(each: Tensor) -> Tensor:
        if not each.ndim or len(each) != rows:
            return each
        if not each.is_floating_point():
            return each[:1].expand(count, *each.shape[1:])
        return torch.randn((count, *each.shape[1:]), generator=noise).to(each.dtype)

    return drawn


def _fix_kernels(network: nn.Module) -> None:
    """Replace a network's convolutions and products by kernels that do not depend on the number of rows."""
    for module in network.modules():
        if (
            type(module) is nn.Conv2d
            and module.padding_mode == "zeros"
            and not isinstance(module.padding, str)
        ):
            module.forward = _Convolution(module)  # type: ignore[assignment, method-assign]
        elif type(module) is nn.Linear:
            module.forward = types.MethodType(_multiply, module)  # type: ignore[method-assign]


class _Convolution:
    """A convolution by oneDNN in batches of any size. The weights are laid out for the first shape that is computed."""

    def __init__(self, module: nn.Conv2d) -> None:
        self._module = module
        padding = [int(each) for each in module.padding]
        self._how = (padding, list(module.stride), list(module.dilation), module.groups)
        self._packed: tuple[torch.Size, Tensor] | None = None

    def __call__(self, given: Tensor) -> Tensor:
        """Return the convolution, of shape ``(rows, channels, height, width)``."""
        module, shape = self._module, given.shape[1:]
        weight, bias = module.weight.detach(), module.bias
        if self._packed is None:
            # The layout is for a full piece, because it must not depend on the size of the first batch.
            size = [IMAGES, *shape]
            packed = torch.ops.mkldnn._reorder_convolution_weight(weight.contiguous(), *self._how, size)
            self._packed = shape, packed
        given = given.contiguous(memory_format=torch.channels_last)
        if self._packed[0] == shape:
            made = torch.ops.mkldnn._convolution_pointwise(
                given, self._packed[1], bias, *self._how, "none", [], ""
            )
        else:
            made = torch.mkldnn_convolution(given, weight, bias, *self._how)
        answer: Tensor = made
        return answer


_LEAST_ROWS, _LEAST_ROWS_ROUNDED = 4, 32
"""Smallest number of rows of a product in float32, and in types with coarser rounding.

In coarser types, the kernel for fewer rows gives sums of which one in a million differs.
"""
_WIDE, _ROWS_OF_WIDE = 256, 128
"""Largest number of columns of an ordinary product, and the number of rows of every wider product.

In wider products, kernels for matrix units (AMX) split a row's sum according to the number of rows. A test with random
values rarely finds the few values that differ. The number of rows is therefore constant.
"""


def _multiply(module: nn.Linear, given: Tensor) -> Tensor:
    """Multiply like the module's ``forward``, after padding with rows of zeros.

    Padding brings the number of rows to the smallest allowed, or for wide rows to a multiple of ``_ROWS_OF_WIDE``.
    """
    rows, is_rounded = given.numel() // given.shape[-1], given.dtype != torch.float32
    is_wide = is_rounded and given.shape[-1] > _WIDE
    least = _ROWS_OF_WIDE if is_wide else _LEAST_ROWS_ROUNDED if is_rounded else _LEAST_ROWS
    lacking = -rows % least if is_wide else max(0, least - rows)
    if not (is_wide or lacking):
        return functional.linear(given, module.weight, module.bias)
    padded = functional.pad(given.reshape(rows, -1), (0, 0, 0, lacking))
    pieces = torch.split(padded, least) if is_wide else [padded]
    made = torch.cat([functional.linear(each, module.weight, module.bias) for each in pieces])
    return made[:rows].reshape(*given.shape[:-1], -1)
