"""Make results independent of the batch: a small network computes each row alike, whatever other rows there are.

A library picks its kernels by the shape of the input, and another kernel adds in another order. On a
processor, PyTorch uses one library for the convolution of one image and another for two, another convolution
of single pixels below 16 images, and another kernel for a product with few rows. Here every convolution is
oneDNN's, with its weights laid out once. A product has at least four rows, 32 in bfloat16, and a wide one
there always 128.

Whether two batch sizes then agree depends on oneDNN and the processor. So it is tested before it is relied
on: once for each shape, size and number of threads, with random values through the whole network, bit by bit.
A batch is cut into pieces of sizes that agree. If only the largest size agrees with itself, smaller batches
are padded to it, and one image takes as long as many.

This is for small networks, which full batches make several times faster. A large network takes about as long
for an image in any batch, and GPUs choose kernels by more than shapes.
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
"""Most images in a piece for the denoiser."""
PADDED: Final = 16
"""Images in a piece if there is only one size: because sizes do not agree, or because it is compiled for one."""
_DECODED: Final = 8
"""Most images in a piece for the decoder; larger pieces are no faster."""
_PIECE_PIXELS: Final = 8192
"""Most pixels of a piece's latents; larger images use a whole processor by themselves."""
_SIZES: Final = (1, 2, 4, 8, 16, 32)

Forward = Callable[..., Any]


def make_batch_invariant(denoiser: UNet2DConditionModel, compiled: bool = False) -> BatchInvariant:
    """Make a small UNet compute each row alike, in batches of any size.

    Args:
        denoiser: The network; its ``forward`` is replaced.
        compiled: Whether it will be compiled; its kernels are then not changed.
    """
    if not compiled:
        _fix_kernels(denoiser)
    found = BatchInvariant(denoiser.forward)
    denoiser.forward = found
    return found


def make_decoder_batch_invariant(autoencoder: AutoencoderKL) -> None:
    """Make an autoencoder decode each row alike, in batches of any size; it encodes one image at a time anyway."""
    _fix_kernels(autoencoder)
    decode = autoencoder.decode
    pieces = Pieces(lambda z, **named: decode(z, return_dict=False, **named)[0], _DECODED)

    def decode_in_pieces(z: Tensor, return_dict: bool = True, **named: Any) -> DecoderOutput | tuple[Tensor]:  # noqa: ANN401
        sample = pieces.run(z, **named)
        return DecoderOutput(sample=sample) if return_dict else (sample,)

    autoencoder.decode = decode_in_pieces


def fix_device(pipeline: DiffusionPipeline) -> None:
    """Set once where a pipeline's networks run.

    Otherwise the pipeline asks every layer of all of them, five times in a run, which takes a tenth of the
    time of a single image.
    """
    kind, device = type(pipeline), pipeline._execution_device
    pipeline.__class__ = type(kind.__name__, (kind,), {"_execution_device": device})


class BatchInvariant:
    """A UNet's ``forward``, independent of the batch.

    Attributes:
        guided: Whether an image takes two rows, as under classifier-free guidance.
    """

    def __init__(self, forward: Forward) -> None:
        self._forward = self._compiled = forward
        self._compiled_for: tuple[tuple[int, ...], bool] = (), True
        self._pieces = Pieces(self._predict, IMAGES)
        self.guided = True

    @property
    def padded(self) -> bool:
        """True if a single image takes as long as a full piece, as far as this was tested."""
        return self._pieces.padded

    def images(self, height: int, width: int) -> int:
        """Return the most images of one size of latents that run together."""
        return PADDED if self.padded else _most(IMAGES, height * width)

    def compile(self, height: int, width: int, channels: int, guided: bool) -> None:
        """Compile for pieces of one shape, to which smaller ones are padded; other shapes are computed as before."""
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
        """Predict as the UNet does; every tensor with a row for each row of the sample is cut with it."""
        predicted = self._pieces.run(sample, *positional, each=2 if self.guided else 1, **named)
        return UNet2DConditionOutput(sample=predicted) if return_dict else (predicted,)

    def _predict(self, sample: Tensor, *positional: Any, **named: Any) -> Tensor:  # noqa: ANN401
        usual = (tuple(sample.shape), self.guided) == self._compiled_for
        forward = self._compiled if usual else self._forward
        made: Tensor = forward(sample, *positional, **named, return_dict=False)[0]
        return made


class Pieces:
    """Runs a network on batches, cut into pieces of sizes that agree bit by bit."""

    def __init__(self, forward: Callable[..., Tensor], most: int) -> None:
        self._forward, self._most = forward, most
        self._fixed: dict[tuple[object, ...], tuple[int, ...]] = {}
        self._agreeing: dict[tuple[object, ...], tuple[int, ...]] = {}

    def fix(self, shape: Sequence[int], each: int) -> None:
        """Use pieces of one shape only for rows of this kind.

        Args:
            each: Rows of an image.
        """
        self._fixed[tuple(shape[1:]), each] = (shape[0],)

    @property
    def padded(self) -> bool:
        """True if a single image is padded, for a shape that was run or fixed."""
        known = [(key[1], sizes) for found in (self._fixed, self._agreeing) for key, sizes in found.items()]
        return any(sizes[0] != each for each, sizes in known)

    def run(self, sample: Tensor, *positional: Any, each: int = 1, **named: Any) -> Tensor:  # noqa: ANN401
        """Compute the answer for all rows.

        Args:
            sample: Has a row for each row of the answer.
            positional: More inputs; tensors with as many rows are cut with it.
            each: Rows of an image.
            named: As ``positional``.
        """
        rows, given = len(sample), ((sample, *positional), named)
        kind = tuple(sample.shape[1:]), each
        sizes = self._fixed.get(kind)
        if sizes is None:
            # With another number of threads a kernel splits its sums differently, so sizes are compared
            # again. Threads share the sums of a kernel.
            key = (*kind, sample.dtype, torch.get_num_threads())
            sizes = self._agreeing[key] = self._agreeing.get(key) or self._agree(given, rows, each)
        return torch.cat([self._piece(given, rows, *cut) for cut in _cuts(rows, sizes)])

    def _piece(self, given: Any, rows: int, start: int, size: int) -> Tensor:  # noqa: ANN401
        """Compute ``size`` rows from ``start``; the last row is repeated where rows are missing."""
        places = torch.arange(start, start + size).clamp(max=rows - 1)
        positional, named = convert(given, _picker(places, rows))
        return self._forward(*positional, **named)[: min(size, rows - start)]

    def _agree(self, given: Any, rows: int, each: int) -> tuple[int, ...]:  # noqa: ANN401
        """Return the numbers of rows whose results equal the largest piece's bit by bit, smallest first.

        The test compares the last rows of the largest piece, which are at other positions in smaller ones,
        and the first row.
        """
        sample = given[0][0]
        images = _most(self._most, sample.shape[-2] * sample.shape[-1])
        sizes = [each * size for size in _SIZES if size <= images]
        most, least = sizes[-1], sizes[0]
        if most == least:
            return (most,)
        drawn = convert(given, _random_rows(most, rows))
        full = self._piece(drawn, most, 0, most)
        # The smallest piece is also tried at the first position: the position of a row must not matter
        # either.
        tried = [(size, most - size) for size in sizes[:-1]] + [(least, 0)]
        apart = {
            size
            for size, start in tried
            if not torch.equal(self._piece(drawn, most, start, size), full[start : start + size])
        }
        agreeing = tuple(size for size in sizes if size not in apart)
        # One size that agrees with no other proves nothing, so all batches are padded to one size.
        return agreeing if len(agreeing) > 1 or not apart else (min(most, each * PADDED),)


def _most(images: int, pixels: int) -> int:
    fitting = max(1, _PIECE_PIXELS // pixels)
    return max(size for size in _SIZES if size <= min(images, fitting))


def _cuts(rows: int, sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the start and size of each piece: full ones, then a few that need little padding."""
    start = 0
    while start < rows:
        left = rows - start
        enough = next((size for size in sizes if size >= left), sizes[-1])
        below = max((size for size in sizes if size <= left), default=enough)
        # Padding of less than half a piece is cheaper than another run of the network.
        size = below if left - below < below / 2 else enough
        yield start, size
        start += size


def _picker(places: Tensor, rows: int) -> Callable[[Tensor], Tensor]:
    return lambda each: each[places] if each.ndim and len(each) == rows else each


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
    """Make convolutions and products of a network use kernels that do not depend on the number of rows."""
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
    """A convolution by oneDNN in batches of any size; its weights are laid out for the first shape that it gets."""

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
            # Laid out for a full piece: the layout must not depend on the size of the first batch.
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
"""Least rows of a product.

The second for types so coarse that another kernel's sums differ in one of a million values.
"""
_WIDE, _ROWS_OF_WIDE = 256, 128
"""Beyond this many columns, kernels for matrix units (AMX) split a row's sum by the number of rows.

Only so few values differ that a test with random ones hardly finds them. So the number of rows is then always
the same.
"""


def _multiply(module: nn.Linear, given: Tensor) -> Tensor:
    """Multiply as the module's ``forward``, with rows of zeros added up to the least number."""
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
