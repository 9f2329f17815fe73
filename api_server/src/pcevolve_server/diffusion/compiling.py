"""A denoiser compiled for the pictures that are usually asked for, before the first of them is."""

from PIL import Image

from pcevolve_server.diffusion.generator import DiffusionGenerator
from pcevolve_server.diffusion.traits import is_doubled
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.generator import Recipe, Task, generate


def compile_for_usual(generator: DiffusionGenerator) -> None:
    """Compile for the model's own size and recommended guidance, and draw with it once.

    What was compiled is kept in PyTorch's cache, so that it takes about a minute the first time and seconds later.

    Raises:
        ModelLoadError: There is nothing to compile for, or no compiler.
    """
    if generator.steady is None or generator.info.recommended is None:
        raise ModelLoadError(
            "--compile is for small models on a processor with --batching exact: leave it out"
        )
    size, recommended = generator.info.size, generator.info.recommended
    recipe = Recipe(size.width, size.height, recommended.steps, recommended.guidance)
    pipeline = generator.text_to_image
    generator.steady.compile(
        size.height // pipeline.vae_scale_factor,
        size.width // pipeline.vae_scale_factor,
        pipeline.unet.config.in_channels,
        is_doubled(pipeline, recommended.guidance),
    )
    try:
        generate(generator, [Task(recipe, "", "", seed=0)])
        varied = Recipe(size.width, size.height, recommended.steps, recommended.guidance, strength=0.5)
        generate(generator, [Task(varied, "", "", 0, Image.new("RGB", (size.width, size.height)))])
    except RuntimeError as error:
        raise ModelLoadError(f"--compile needs a C++ compiler, and failed: {type(error).__name__}") from error
