"""A Stable Diffusion pipeline as one file, with the names of the original code; for tests only.

The names are those that diffusers reads (``diffusers.loaders.single_file_utils``), the other way round.
"""

import re

UNET = [
    (r"time_embedding\.linear_1\.", "time_embed.0."),
    (r"time_embedding\.linear_2\.", "time_embed.2."),
    (r"conv_in\.", "input_blocks.0.0."),
    (r"conv_norm_out\.", "out.0."),
    (r"conv_out\.", "out.2."),
    (r"mid_block\.resnets\.0\.", "middle_block.0."),
    (r"mid_block\.attentions\.0\.", "middle_block.1."),
    (r"mid_block\.resnets\.1\.", "middle_block.2."),
]
RESNET = [
    (r"\.norm1\.", ".in_layers.0."),
    (r"\.conv1\.", ".in_layers.2."),
    (r"\.time_emb_proj\.", ".emb_layers.1."),
    (r"\.norm2\.", ".out_layers.0."),
    (r"\.conv2\.", ".out_layers.3."),
    (r"\.conv_shortcut\.", ".skip_connection."),
]
VAE = [
    (r"down_blocks\.(\d+)\.resnets\.", r"down.\1.block."),
    (r"down_blocks\.(\d+)\.downsamplers\.0\.", r"down.\1.downsample."),
    (r"mid_block\.resnets\.0\.", "mid.block_1."),
    (r"mid_block\.resnets\.1\.", "mid.block_2."),
    (r"mid_block\.attentions\.0\.", "mid.attn_1."),
    (r"\.group_norm\.", ".norm."),
    (r"\.to_([qkv])\.", r".\1."),
    (r"\.to_out\.0\.", ".proj_out."),
    (r"conv_norm_out\.", "norm_out."),
    (r"conv_shortcut\.", "nin_shortcut."),
]


def checkpoint(pipeline):
    """The weights of all networks under their original names."""
    unet, vae = pipeline.unet.state_dict(), pipeline.vae.state_dict()
    layers, blocks = pipeline.unet.config.layers_per_block, len(pipeline.vae.config.block_out_channels)
    text = {_text(name): value for name, value in pipeline.text_encoder.state_dict().items()}
    return (
        {f"model.diffusion_model.{_unet(name, layers, unet)}": value for name, value in unet.items()}
        | {f"first_stage_model.{_vae(name, blocks)}": _shape(name, value) for name, value in vae.items()}
        | {f"cond_stage_model.transformer.{name}": value for name, value in text.items()}
    )


def save(pipeline, file):
    from safetensors.torch import save_file

    save_file({name: value.clone().contiguous() for name, value in checkpoint(pipeline).items()}, file)
    return file


def _text(name):
    return name if name.startswith("text_model.") else f"text_model.{name}"


def _unet(name, layers, all_names):
    for pattern, original in UNET:
        name = re.sub(f"^{pattern}", original, name)
    if found := re.match(r"(down|up)_blocks\.(\d+)\.(\w+)\.(\d+)\.(.*)", name):
        way, block, kind, place, rest = found.groups()
        first = int(block) * (layers + 1)
        if way == "down":
            number = first + int(place) + 1 if kind != "downsamplers" else first + layers + 1
            tail = {"resnets": f"0.{rest}", "attentions": f"1.{rest}"}.get(kind)
            name = f"input_blocks.{number}.{tail or '0.' + rest.replace('conv.', 'op.')}"
        else:
            attends = any(each.startswith(f"up_blocks.{block}.attentions") for each in all_names)
            number = first + (layers if kind == "upsamplers" else int(place))
            slot = {"resnets": 0, "attentions": 1}.get(kind, 2 if attends else 1)
            name = f"output_blocks.{number}.{slot}.{rest}"
    if ".transformer_blocks." not in name:
        for pattern, original in RESNET:
            name = re.sub(pattern, original, name)
    return name


def _vae(name, blocks):
    mirrored = re.sub(r"up_blocks\.(\d+)\.resnets\.", lambda m: f"up.{blocks - 1 - int(m[1])}.block.", name)
    name = re.sub(
        r"up_blocks\.(\d+)\.upsamplers\.0\.", lambda m: f"up.{blocks - 1 - int(m[1])}.upsample.", mirrored
    )
    for pattern, original in VAE:
        name = re.sub(pattern, original, name)
    return name


def _shape(name, value):
    """Attention of the original is convolution of 1 x 1."""
    return value[..., None, None] if ".attentions." in name and value.ndim == 2 else value
