"""Evolve a dataset with an online endpoint that speaks like getimg, within a limit on its cost."""

import os

import pcevolve

provider = pcevolve.Provider(
    "https://api.getimg.ai",
    dialect="getimg",
    key=os.environ.get("GETIMG_KEY"),
    model="stable-diffusion-v1-5",
)
options = dict(
    private="scans",
    domain="chest X-ray",
    provider=provider,
    epsilon=8,
    shots=3,
    candidates=4,
    batch=1,  # this API makes one image for each request
    price=0.001,  # of an image, for the forecast
    max_cost=1,
    yes=True,  # nobody is there to be asked
    out="runs/online",
)
try:
    result = pcevolve.evolve(**options)
except pcevolve.ProviderError as error:
    print(f"cut off: {error}; what was paid for is on record, so it is continued")
    result = pcevolve.evolve(**options, resume=True)
except pcevolve.BudgetError as error:
    raise SystemExit(f"these images were used before: {error}") from None
print(result, "cost", result.summary["cost"])
