"""The app's parts, as its routes ask for them."""

from typing import Annotated

from fastapi import Depends, Request

from pcevolve_server.chats import Chats
from pcevolve_server.host import Host
from pcevolve_server.links import Links
from pcevolve_server.metrics import Metrics
from pcevolve_server.service import Service


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _chats(request: Request) -> Chats:
    chats: Chats = request.app.state.chats
    return chats


def _host(request: Request) -> Host:
    host: Host = request.app.state.host
    return host


def _metrics(request: Request) -> Metrics:
    metrics: Metrics = request.app.state.metrics
    return metrics


def links_of(request: Request) -> Links:
    """Where images wait that were asked for by address."""
    links: Links = request.app.state.links
    return links


ServiceDep = Annotated[Service, Depends(_service)]
ChatsDep = Annotated[Chats, Depends(_chats)]
HostDep = Annotated[Host, Depends(_host)]
MetricsDep = Annotated[Metrics, Depends(_metrics)]
LinksDep = Annotated[Links, Depends(links_of)]
