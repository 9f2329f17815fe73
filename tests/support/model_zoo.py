"""A tiny random pipeline of each class that people bring, in the layout of its releases; for tests only."""

import string

import diffusers
import torch
import transformers

from support.tiny_model import assemble, tiny_text_encoder, tiny_tokenizer, tiny_unet, tiny_vae

WORDS = 32  # dimension of a text encoder's hidden states
SENTENCE = (
    24  # tokens that the tiny T5 tokenizer would read; pipelines read fewer or more of their own accord
)


def stable_diffusion_2():
    """Stable Diffusion 2.1: predicts velocities, on a schedule without a signal at its end."""
    told = {"prediction_type": "v_prediction", "rescale_betas_zero_snr": True}
    scheduler = diffusers.DDIMScheduler(**SCHEDULE, **told, clip_sample=False, set_alpha_to_one=False)
    return assemble(diffusers.StableDiffusionPipeline, scheduler, use_linear_projection=True)


def turbo():
    """SD-Turbo: Stable Diffusion 2.1, distilled for few steps without guidance."""
    pipeline = stable_diffusion_2()
    pipeline.register_modules(
        scheduler=diffusers.EulerDiscreteScheduler(**SCHEDULE, timestep_spacing="trailing")
    )
    return pipeline


def stable_diffusion_xl():
    """SDXL: two text encoders, the second of which also tells in one vector what a prompt is about."""
    tokenizer = tiny_tokenizer()
    unet = tiny_unet(
        cross_attention_dim=2 * WORDS,
        addition_embed_type="text_time",
        addition_time_embed_dim=8,
        projection_class_embeddings_input_dim=6 * 8 + WORDS,
        transformer_layers_per_block=1,
    )
    return diffusers.StableDiffusionXLPipeline(
        vae=tiny_vae(),
        text_encoder=tiny_text_encoder(len(tokenizer)),
        text_encoder_2=projecting_text_encoder(len(tokenizer)),
        tokenizer=tokenizer,
        tokenizer_2=tiny_tokenizer(),
        unet=unet,
        scheduler=diffusers.EulerDiscreteScheduler(**SCHEDULE, timestep_spacing="leading"),
        add_watermarker=False,
    )


def turbo_xl():
    """SDXL-Turbo: SDXL, distilled for few steps without guidance."""
    pipeline = stable_diffusion_xl()
    pipeline.register_modules(
        scheduler=diffusers.EulerAncestralDiscreteScheduler(**SCHEDULE, timestep_spacing="trailing")
    )
    return pipeline


def latent_consistency():
    """LCM: the guidance is an input of the UNet, and there is no negative prompt."""
    scheduler = diffusers.LCMScheduler(original_inference_steps=50)
    return assemble(diffusers.LatentConsistencyModelPipeline, scheduler, time_cond_proj_dim=16)


def stable_diffusion_3():
    """SD 3: a transformer on flow matching, with three text encoders and shifted noise levels."""
    tokenizer = tiny_tokenizer()
    transformer = diffusers.SD3Transformer2DModel(
        sample_size=16,
        patch_size=2,
        in_channels=4,
        num_layers=1,
        attention_head_dim=8,
        num_attention_heads=4,
        joint_attention_dim=2 * WORDS,
        caption_projection_dim=32,
        pooled_projection_dim=2 * WORDS,
        out_channels=4,
        pos_embed_max_size=16,
    )
    return diffusers.StableDiffusion3Pipeline(
        vae=tiny_vae(shift_factor=0.06, scaling_factor=1.5),
        text_encoder=projecting_text_encoder(len(tokenizer)),
        text_encoder_2=projecting_text_encoder(len(tokenizer)),
        text_encoder_3=sentence_encoder(2 * WORDS),
        tokenizer=tokenizer,
        tokenizer_2=tiny_tokenizer(),
        tokenizer_3=sentence_tokenizer(),
        transformer=randomise(transformer),
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(shift=3.0),
    )


def flux():
    """Flux: guidance is an input of the transformer, and noise levels shift with the image's size."""
    return _flux(True, diffusers.FlowMatchEulerDiscreteScheduler(shift=3.0, use_dynamic_shifting=True))


def flux_schnell():
    """Flux.1-schnell: distilled for four steps without guidance, on noise levels as they are."""
    return _flux(False, diffusers.FlowMatchEulerDiscreteScheduler(shift=1.0))


def kontext():
    """FLUX.1 Kontext: Flux that sees an image beside the noise."""
    return diffusers.FluxKontextPipeline(**flux().components)


def pix2pix():
    """InstructPix2Pix: Stable Diffusion 1.5 whose UNet sees an encoded image beside the noise."""
    scheduler = diffusers.DDIMScheduler(**SCHEDULE, clip_sample=False, set_alpha_to_one=False)
    return assemble(diffusers.StableDiffusionInstructPix2PixPipeline, scheduler, in_channels=8)


def qwen():
    """Qwen-Image: a transformer on flow matching whose text encoder is a language model that also sees images."""
    return diffusers.QwenImagePipeline(**_qwen_parts(_seeing_tokenizer()))


def z_image():
    """Z-Image: a transformer on flow matching that reads prompt and noise in one row, behind a language model."""
    tokenizer = _seeing_tokenizer()
    tokenizer.chat_template = (
        "{% for each in messages %}<|im_start|>{{ each['content'] }}<|im_end|>{% endfor %}"
    )
    shape = {"hidden_size": WORDS, "intermediate_size": WORDS, "num_hidden_layers": 2, "head_dim": 16}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1}
    transformer = diffusers.ZImageTransformer2DModel(
        in_channels=4,
        dim=32,
        n_layers=1,
        n_refiner_layers=1,
        n_heads=2,
        n_kv_heads=2,
        cap_feat_dim=WORDS,
        axes_dims=[4, 6, 6],
        axes_lens=[1024, 64, 64],
    )
    return diffusers.ZImagePipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(shift=3.0),
        vae=tiny_vae(shift_factor=0.06, scaling_factor=1.5),
        text_encoder=transformers.Qwen3Model(
            transformers.Qwen3Config(vocab_size=len(tokenizer), **shape, **heads)
        ),
        tokenizer=tokenizer,
        transformer=randomise(transformer),
    )


def qwen_edit():
    """Qwen-Image-Edit: Qwen-Image that sees an image beside the noise, and in the prompt."""
    return diffusers.QwenImageEditPipeline(**_seeing_parts())


def qwen_edit_plus():
    """Qwen-Image-Edit-2509 and later: several images may stand in the prompt."""
    return diffusers.QwenImageEditPlusPipeline(**_seeing_parts())


def _seeing_parts():
    tokenizer = _seeing_tokenizer()
    bounds = {"shortest_edge": 28 * 28, "longest_edge": 4 * 28 * 28}  # pixels that the language model sees
    processor = transformers.Qwen2VLProcessor(
        transformers.Qwen2VLImageProcessor(size=bounds),
        tokenizer,
        transformers.Qwen2VLVideoProcessor(size=bounds),
    )
    return _qwen_parts(tokenizer) | {"processor": processor}


def _seeing_tokenizer():
    from tokenizers.pre_tokenizers import ByteLevel

    vocabulary = {
        letter: index for index, letter in enumerate(["<|endoftext|>", *sorted(ByteLevel.alphabet())])
    }
    tokenizer = transformers.Qwen2Tokenizer(vocab=vocabulary, merges=[], model_max_length=2048)
    tokenizer.add_special_tokens({"additional_special_tokens": QWEN_TOKENS})
    return tokenizer


def _seeing_encoder(tokenizer):
    numbers = dict(zip(QWEN_TOKENS, tokenizer.convert_tokens_to_ids(QWEN_TOKENS), strict=True))
    config = transformers.Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": WORDS,
            "intermediate_size": WORDS,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]},
        },
        vision_config={
            "depth": 1,
            "hidden_size": WORDS,
            "intermediate_size": WORDS,
            "num_heads": 2,
            "out_hidden_size": WORDS,
            "fullatt_block_indexes": [0],
        },
        image_token_id=numbers["<|image_pad|>"],
        video_token_id=numbers["<|video_pad|>"],
        vision_start_token_id=numbers["<|vision_start|>"],
        vision_end_token_id=numbers["<|vision_end|>"],
    )
    return transformers.Qwen2_5_VLForConditionalGeneration(config)


def _qwen_parts(tokenizer):
    transformer = diffusers.QwenImageTransformer2DModel(
        in_channels=16,
        out_channels=4,
        num_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=WORDS,
        axes_dims_rope=(4, 6, 6),
    )
    return {
        "scheduler": diffusers.FlowMatchEulerDiscreteScheduler(
            use_dynamic_shifting=True, max_shift=0.9, max_image_seq_len=8192, shift_terminal=0.02
        ),
        "vae": diffusers.AutoencoderKLQwenImage(
            base_dim=4,
            z_dim=4,
            dim_mult=[1, 1, 1, 1],
            num_res_blocks=1,
            latents_mean=[0.0] * 4,
            latents_std=[1.0] * 4,
        ),
        "text_encoder": _seeing_encoder(tokenizer),
        "tokenizer": tokenizer,
        "transformer": randomise(transformer, 0.3),
    }


def _flux(guided, scheduler):
    tokenizer = tiny_tokenizer()
    transformer = diffusers.FluxTransformer2DModel(
        patch_size=1,
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=WORDS,
        pooled_projection_dim=WORDS,
        guidance_embeds=guided,
        axes_dims_rope=(4, 4, 8),
    )
    return diffusers.FluxPipeline(
        vae=tiny_vae(shift_factor=0.06, scaling_factor=1.5),
        text_encoder=tiny_text_encoder(len(tokenizer)),
        text_encoder_2=sentence_encoder(WORDS),
        tokenizer=tokenizer,
        tokenizer_2=sentence_tokenizer(),
        transformer=randomise(transformer),
        scheduler=scheduler,
    )


VISION = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
QWEN_TOKENS = ["<|im_start|>", "<|im_end|>", *VISION]
SCHEDULE = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear", "steps_offset": 1}
"""Of every Stable Diffusion that learnt to predict noise or velocities."""

ZOO = {
    "sd21": stable_diffusion_2,
    "sd-turbo": turbo,
    "sdxl": stable_diffusion_xl,
    "sdxl-turbo": turbo_xl,
    "lcm": latent_consistency,
    "sd3": stable_diffusion_3,
    "flux-dev": flux,
    "flux-schnell": flux_schnell,
    "qwen": qwen,
    "z-image": z_image,
}
"""Stable Diffusion 1.5, which is also OpenJourney's layout, is ``tiny_model.tiny_pipeline``."""
EDITS = {"kontext": kontext, "pix2pix": pix2pix, "qwen-edit": qwen_edit, "qwen-edit-plus": qwen_edit_plus}
"""Models that vary images to a degree of their own."""


def randomise(transformer, spread=0.05):
    """Add small random weights: transformers begin with zeros in places, and would ignore their inputs."""
    with torch.no_grad():
        for each in transformer.parameters():
            each.add_(torch.randn_like(each) * spread)
    return transformer


def projecting_text_encoder(words):
    return transformers.CLIPTextModelWithProjection(tiny_text_encoder(words, projection_dim=WORDS).config)


def sentence_tokenizer():
    letters = [(letter, -3.0) for letter in string.ascii_lowercase + string.digits]
    vocabulary = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0), *letters]
    return transformers.T5Tokenizer(vocab=vocabulary, extra_ids=0, model_max_length=512)


def sentence_encoder(dimension):
    return transformers.T5EncoderModel(
        transformers.T5Config(
            vocab_size=40,
            d_model=dimension,
            d_kv=8,
            d_ff=16,
            num_layers=1,
            num_heads=2,
            feed_forward_proj="relu",
        )
    )
