# The auditor: mitmproxy and one script that records; no code of the client or the server.
# Build in the repository's root: docker build -f docker/auditor.Dockerfile -t pcevolve-auditor .

# To pin it, name its digest: --build-arg PYTHON_IMAGE=python:3.11-slim@sha256:...
ARG PYTHON_IMAGE=python:3.11-slim

FROM ${PYTHON_IMAGE} AS dependencies
RUN python -m venv /opt/pip && python -m venv --without-pip /opt/auditor
COPY docker/auditor/requirements.txt ./
RUN /opt/pip/bin/pip --python /opt/auditor/bin/python install --no-cache-dir --no-deps --require-hashes \
        --only-binary :all: -r requirements.txt

FROM ${PYTHON_IMAGE}
COPY --from=dependencies /opt/auditor /opt/auditor
COPY docker/auditor/record.py /opt/auditor/record.py
RUN useradd --uid 10002 --user-group --no-create-home --home-dir /tmp auditor
ENV PATH=/opt/auditor/bin:$PATH HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10002:10002
STOPSIGNAL SIGINT
# Everything is passed on as it came: the Host header too, unless it goes on by https; no protocol but HTTP/1.1, no connection before a request.
ENTRYPOINT ["mitmdump", "--quiet", "--listen-port=8000", "--scripts=/opt/auditor/record.py", \
    "--set=confdir=/tmp/mitmproxy", "--set=connection_strategy=lazy", "--set=keep_host_header=true", \
    "--set=keep_alt_svc_header=true", "--set=http2=false", "--set=http3=false", "--set=websocket=false", \
    "--set=rawtcp=false"]
CMD ["--help"]
