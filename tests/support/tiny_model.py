"""A Stable Diffusion pipeline with random weights that is as small as one can be; for tests only."""

import string

import diffusers
import torch
import transformers
from safetensors.torch import save_file

from pcevolve_server.diffusion import generator_loading
from pcevolve_server.model_settings import ModelSettings

PROMPT_TOKENS = 16


def tiny_tokenizer():
    letters = string.ascii_lowercase + string.digits
    words = ["<|startoftext|>", "<|endoftext|>", *letters, *(letter + "</w>" for letter in letters)]
    vocabulary = {word: index for index, word in enumerate(words)}
    return transformers.CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=PROMPT_TOKENS)


def tiny_text_encoder(words, **changes):
    config = {
        "vocab_size": words,
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "max_position_embeddings": PROMPT_TOKENS,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": 1,
    }
    return transformers.CLIPTextModel(transformers.CLIPTextConfig(**(config | changes)))


def tiny_unet(**changes):
    config = {
        "sample_size": 8,
        "block_out_channels": (8, 16),
        "layers_per_block": 1,
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
        "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
        "cross_attention_dim": 32,
        "attention_head_dim": 8,
        "norm_num_groups": 4,
    }
    return diffusers.UNet2DConditionModel(**(config | changes))


def tiny_vae(**changes):
    return diffusers.AutoencoderKL(
        block_out_channels=(8, 8, 8),
        down_block_types=("DownEncoderBlock2D",) * 3,
        up_block_types=("UpDecoderBlock2D",) * 3,
        norm_num_groups=4,
        sample_size=32,
        **changes,
    )


def load(**settings):
    return generator_loading.load(ModelSettings(**settings))


def assemble(pipeline, scheduler, **unet):
    """A pipeline of tiny parts, with changes to its UNet and without a safety checker."""
    tokenizer = tiny_tokenizer()
    return pipeline(
        vae=tiny_vae(),
        text_encoder=tiny_text_encoder(len(tokenizer)),
        tokenizer=tokenizer,
        unet=tiny_unet(**unet),
        scheduler=scheduler,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def tiny_pipeline():
    """Stable Diffusion 1.5, with its schedule."""
    torch.manual_seed(0)
    schedule = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear"}
    return assemble(
        diffusers.StableDiffusionPipeline,
        diffusers.PNDMScheduler(**schedule, skip_prk_steps=True, steps_offset=1),
    )


EMBEDDING = 16


def save_adapter(directory, unet):
    """An IP-Adapter with random weights for a tiny UNet, in the layout of the authors' releases; its weight file."""
    torch.manual_seed(1)
    transformers.CLIPVisionModelWithProjection(
        transformers.CLIPVisionConfig(
            hidden_size=16,
            intermediate_size=16,
            projection_dim=EMBEDDING,
            num_hidden_layers=1,
            num_attention_heads=2,
            image_size=16,
            patch_size=8,
        )
    ).save_pretrained(directory / "image_encoder")
    save_file(adapter_weights(unet), directory / "tiny-adapter.safetensors")
    return directory / "tiny-adapter.safetensors"


def adapter_weights(unet):
    """Return one key and value projection per cross-attention, numbered as the authors do."""
    across = unet.config.cross_attention_dim
    weights = {
        "image_proj.proj.weight": torch.randn(4 * across, EMBEDDING),
        "image_proj.proj.bias": torch.randn(4 * across),
        "image_proj.norm.weight": torch.ones(across),
        "image_proj.norm.bias": torch.zeros(across),
    }
    names = [name for name in unet.attn_processors if name.endswith("attn2.processor")]
    for index, name in enumerate(names):
        layer = unet.get_submodule(name.removesuffix(".processor"))
        for projection in ("to_k_ip", "to_v_ip"):
            key = f"ip_adapter.{2 * index + 1}.{projection}.weight"
            weights[key] = torch.randn(layer.inner_dim, across)
    return weights


def save_lora(directory, pipeline, seed=0, name="pytorch_lora_weights.safetensors"):
    """A LoRA of random weights for the attention of a pipeline's denoiser; its file. It stays in the pipeline."""
    from peft import LoraConfig, get_peft_model_state_dict

    torch.manual_seed(seed)
    part = "unet" if hasattr(pipeline, "unet") else "transformer"
    denoiser = getattr(pipeline, part)
    denoiser.add_adapter(LoraConfig(r=2, init_lora_weights="gaussian", target_modules=["to_q", "to_v"]))
    for layer, weight in denoiser.named_parameters():
        if "lora_B" in layer:
            torch.nn.init.normal_(weight, std=0.5)
    weights = {f"{part}_lora_layers": get_peft_model_state_dict(denoiser)}
    pipeline.save_lora_weights(directory, weight_name=name, **weights)
    return directory / name
