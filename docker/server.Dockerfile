# The API server: pcevolve_shared and pcevolve_server, and no code of the client.
# Build in the repository's root: docker build -f docker/server.Dockerfile -t pcevolve-server .
# For a Ray cluster and the server before it: --build-arg EXTRAS=ray (docker/ray)

# To pin the base, name its digest: --build-arg PYTHON_IMAGE=python:3.11-slim@sha256:...
ARG PYTHON_IMAGE=python:3.11-slim

# The dependencies of this side alone. `compile` picks their names out of the lock's pins; `install` takes every
# version's hash from the lock as well, and refuses what has none or another one.
FROM ${PYTHON_IMAGE} AS dependencies
ARG EXTRAS=
ENV UV_COMPILE_BYTECODE=1 UV_NO_CACHE=1 VIRTUAL_ENV=/opt/venv
WORKDIR /build
COPY docker/uv.txt ./
RUN python -m venv /opt/uv \
    && /opt/uv/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r uv.txt \
    && python -m venv --without-pip /opt/venv
COPY requirements.lock ./
COPY shared/pyproject.toml shared/
COPY api_server/pyproject.toml api_server/
RUN /opt/uv/bin/uv pip compile --quiet --no-header --no-annotate --no-emit-package pcevolve-shared \
        ${EXTRAS:+--extra "$EXTRAS"} -c requirements.lock shared/pyproject.toml api_server/pyproject.toml -o pins.txt \
    && /opt/uv/bin/uv pip install --require-hashes --only-binary :all: -c requirements.lock -r pins.txt

# Our own code, apart, so that a change of it does not copy gigabytes of dependencies again.
FROM dependencies AS code
COPY shared shared
COPY api_server api_server
RUN /opt/uv/bin/uv build --quiet --wheel --build-constraints requirements.lock --require-hashes -o wheels shared \
    && /opt/uv/bin/uv build --quiet --wheel --build-constraints requirements.lock --require-hashes -o wheels api_server \
    && /opt/uv/bin/uv pip install --no-deps --prefix /code wheels/*.whl

FROM ${PYTHON_IMAGE}
COPY --from=dependencies /opt/venv /opt/venv
COPY --from=code /code /opt/venv
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /tmp pcevolve-server
# Models that are not bundled are looked for here by name. All that the process may write is /tmp.
WORKDIR /models
ENV PATH=/opt/venv/bin:$PATH HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    PCEVOLVE_SERVER_HOST=0.0.0.0 PCEVOLVE_SERVER_PORT=8000
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=8s --start-period=10m --retries=6 CMD ["python", "-c", "\
import http.client; c = http.client.HTTPConnection('127.0.0.1', 8000, timeout=4); \
c.request('GET', '/readyz'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["pcevolve-server"]
CMD ["serve"]
