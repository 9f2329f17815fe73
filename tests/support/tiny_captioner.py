"""An image-to-text model with random weights that is as small as it can be; for tests only."""

from pathlib import Path

from support.tiny_writer import CONTEXT, tiny_tokenizer

SIDE = 32


def save_captioner(directory: Path) -> Path:
    """Save a ViT with GPT-2 behind it, its processor and its tokenizer as every release of the library does."""
    import torch
    from transformers import (
        GPT2Config,
        VisionEncoderDecoderConfig,
        VisionEncoderDecoderModel,
        ViTConfig,
        ViTImageProcessor,
    )

    torch.manual_seed(0)
    tokenizer = tiny_tokenizer()
    end = tokenizer.eos_token_id
    small = {"num_hidden_layers": 1, "num_attention_heads": 2}
    seeing = ViTConfig(hidden_size=16, intermediate_size=16, image_size=SIDE, patch_size=16, **small)
    saying = GPT2Config(
        vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2, n_positions=CONTEXT, bos_token_id=end,
        eos_token_id=end, pad_token_id=end, is_decoder=True, add_cross_attention=True,
    )  # fmt: skip
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(seeing, saying)
    config.decoder_start_token_id, config.pad_token_id = end, end
    network = VisionEncoderDecoderModel(config=config)
    network.generation_config.decoder_start_token_id = end
    network.generation_config.pad_token_id = end
    for each in network.parameters():
        each.data *= 8  # or every token is as likely after any other
    network.save_pretrained(directory)
    ViTImageProcessor(size={"height": SIDE, "width": SIDE}).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory
