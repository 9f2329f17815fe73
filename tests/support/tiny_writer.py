"""Language models with random weights that are as small as they can be; for tests only."""

from pathlib import Path

from pcevolve_server.model_settings import ModelSettings

CONTEXT = 64
TEMPLATE = (
    "{% for each in messages %}"
    "{% if each.role == 'assistant' %}{{ raise_exception('no assistants here') }}{% endif %}"
    "[{{ each.role }}]{{ each.content }}"
    "{% endfor %}"
)


def tiny_tokenizer(template: str | None = None, context: int = CONTEXT):
    """One token for each printable character of ASCII, and one that ends a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = ["Ġ", *map(chr, range(33, 127))]
    vocabulary = {letter: place for place, letter in enumerate([*letters, "<|end|>"])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|end|>", chat_template=template, model_max_length=context
    )


def save_writer(directory: Path, template: str | None = None, context: int = CONTEXT) -> Path:
    """Save a model with its tokenizer as every release of the library does."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    tokenizer = tiny_tokenizer(template, context)
    end = tokenizer.eos_token_id
    shape = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": context}
    config = GPT2Config(vocab_size=len(tokenizer), bos_token_id=end, eos_token_id=end, **shape)
    network = GPT2LMHeadModel(config)
    for each in network.parameters():
        each.data *= 8  # or every token is as likely after any other
    network.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def save_encoder(directory: Path) -> Path:
    """Save an encoder of texts with its tokenizer."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    tokenizer = tiny_tokenizer()
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=len(tokenizer), **shape)).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def load(directory: Path, **settings):
    from pcevolve_server import models

    return models.load(ModelSettings(f"text:{directory}", device="cpu", threads=1, **settings))
