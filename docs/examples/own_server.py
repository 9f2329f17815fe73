"""Evolve a dataset with a server of your own; `pcevolve-server serve` runs in another terminal."""

import pcevolve

PRIVATE = "scans"  # one folder per class, about as many images in each as SHOTS says
SHOTS = 3

planned = pcevolve.plan(epsilon=8, classes=2, shots=SHOTS, candidates=8)
print(f"{planned.method}: {planned.verdict}; it would cost epsilon {planned.epsilon_total:.3g}")

result = pcevolve.evolve(
    private=PRIVATE,
    domain="chest X-ray",
    provider=pcevolve.Provider("http://127.0.0.1:8000"),
    epsilon=8,
    shots=SHOTS,
    candidates=8,
    progress=lambda step: print(f"{step.images} of {step.total} images, epsilon {step.epsilon:.3g}"),
)
print(result)

found = result.verify()
if not found:
    raise SystemExit("\n".join(found.faults))
print("audited: nothing left without a reason")
