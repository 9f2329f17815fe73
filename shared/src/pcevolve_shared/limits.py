"""The limits of the wire in one place. Both sides refuse a message beyond a limit before they process it."""

MAX_IMAGE_BYTES = 16 * 2**20  # one encoded image, before base64
MAX_PIXELS = 4096 * 4096  # one decoded image
MAX_SIDE = 8192  # pixels; a 1 x 16M strip is as unwelcome as a bomb
MIN_SIZE, MAX_SIZE = 8, 4096  # pixels; sides of a requested image
SIZE_STEP = 8  # pixels; latent diffusion works on whole latents

MAX_PROMPT_CHARS = 2048
MAX_NAME_CHARS = 256  # model ids, schedulers, adapters
MAX_MESSAGE_CHARS = 2048  # error messages
MAX_LIST = 1024  # models, names; anything listed that is not an image
MAX_LICENCES = 32  # different licences of a library's images
MAX_LICENCE_FILES = 4
MAX_LICENCE_CHARS = 4096  # of one file's text

MAX_BATCH = 64  # images per request
MAX_MESSAGES = 64  # of a chat
MAX_COMPLETIONS = 64  # of a chat, per request
MAX_NEW_TOKENS = 4096  # of a completion
MAX_STOPS = 4  # strings that end a completion
MAX_STOP_CHARS = 64
MAX_STEPS = 150
MAX_GUIDANCE = 50.0
MAX_SEED = 2**32 - 1

MAX_BASE64_CHARS = 4 * -(-MAX_IMAGE_BYTES // 3)
MAX_FIELDS_BYTES = 64 * 2**10  # a request apart from its image
MAX_REQUEST_BYTES = MAX_BASE64_CHARS + MAX_FIELDS_BYTES
MAX_RESPONSE_BYTES = 256 * 2**20  # a full batch of 1024 x 1024 PNGs
