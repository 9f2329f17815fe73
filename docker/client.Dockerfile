# The client: pcevolve_shared and pcevolve, and no code of the server.
# Build in the repository's root: docker build -f docker/client.Dockerfile -t pcevolve-client .

# To pin the base, name its digest: --build-arg PYTHON_IMAGE=python:3.11-slim@sha256:...
ARG PYTHON_IMAGE=python:3.11-slim

# The dependencies of this side alone. `compile` picks their names out of the lock's pins; `install` takes every
# version's hash from the lock as well, and refuses what has none or another one.
FROM ${PYTHON_IMAGE} AS dependencies
ENV UV_COMPILE_BYTECODE=1 UV_NO_CACHE=1 VIRTUAL_ENV=/opt/venv
WORKDIR /build
COPY docker/uv.txt ./
RUN python -m venv /opt/uv \
    && /opt/uv/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r uv.txt \
    && python -m venv --without-pip /opt/venv
COPY requirements.lock ./
COPY shared/pyproject.toml shared/
COPY client/pyproject.toml client/
RUN /opt/uv/bin/uv pip compile --quiet --no-header --no-annotate --no-emit-package pcevolve-shared \
        -c requirements.lock shared/pyproject.toml client/pyproject.toml -o pins.txt \
    && /opt/uv/bin/uv pip install --require-hashes --only-binary :all: -c requirements.lock -r pins.txt

# Our own code, apart, so that a change of it does not copy gigabytes of dependencies again.
FROM dependencies AS code
COPY shared shared
COPY client client
RUN /opt/uv/bin/uv build --quiet --wheel --build-constraints requirements.lock --require-hashes -o wheels shared \
    && /opt/uv/bin/uv build --quiet --wheel --build-constraints requirements.lock --require-hashes -o wheels client \
    && /opt/uv/bin/uv pip install --no-deps --prefix /code wheels/*.whl

FROM ${PYTHON_IMAGE}
COPY --from=dependencies /opt/venv /opt/venv
COPY --from=code /code /opt/venv
# New volumes get the modes of these. Whoever the keeper runs as can begin a ledger in /state and wait in /door: a
# volume is seen by the containers that mount it alone, and what is made there is its maker's.
RUN useradd --uid 1000 --user-group --no-create-home --home-dir /tmp pcevolve \
    && install -d -o 1000 -g 1000 -m 700 /runs && install -d -m 1777 /state /door
# The budget belongs to the data, so its ledger outlives containers: where /state is no volume, no run begins.
# All else that may be written is /tmp and /runs.
ENV PATH=/opt/venv/bin:$PATH HOME=/tmp USER=pcevolve PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    PCEVOLVE_LEDGER=/state/ledger.sqlite PCEVOLVE_LEDGER_VOLUME=/state
WORKDIR /runs
USER 1000:1000
# Python answers this signal even as process 1, so that stopping does not wait for the kill.
STOPSIGNAL SIGINT
ENTRYPOINT ["pcevolve"]
CMD ["--help"]
