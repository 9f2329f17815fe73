"""``/docs``: the routes in Swagger UI. The server has the page's files, so no other host is contacted."""

from __future__ import annotations

from importlib import resources
from typing import Final

from fastapi import APIRouter
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import HTMLResponse, Response

PAGE: Final = "/docs"
SCHEMA: Final = "/openapi.json"
_SCRIPT, _STYLE, _ICON = "swagger-ui-bundle.js", "swagger-ui.css", "favicon.png"
_KINDS: Final = {_SCRIPT: "text/javascript", _STYLE: "text/css", _ICON: "image/png"}
ROUTES: Final = {PAGE, SCHEMA, *(f"{PAGE}/{name}" for name in _KINDS)}
# Swagger UI needs an inline script, styles and icons.
_OWN_ALONE: Final = (
    "default-src 'none'; connect-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; frame-ancestors 'none'"
)

router = APIRouter(include_in_schema=False)


@router.get(PAGE)
async def page() -> HTMLResponse:
    made = get_swagger_ui_html(
        # The address is relative, so that it also works behind a proxy with a path prefix.
        openapi_url=SCHEMA.removeprefix("/"),
        title="PCEvolve API server",
        swagger_js_url=f"docs/{_SCRIPT}",
        swagger_css_url=f"docs/{_STYLE}",
        swagger_favicon_url=f"docs/{_ICON}",
        swagger_ui_parameters={"validatorUrl": None},
    )
    made.headers["Content-Security-Policy"] = _OWN_ALONE
    return made


def _add(name: str) -> None:
    data = (resources.files("fastapi_offline") / "static" / name).read_bytes()

    @router.get(f"{PAGE}/{name}")
    async def file() -> Response:
        return Response(data, media_type=_KINDS[name], headers={"Cache-Control": "max-age=86400"})


for _name in _KINDS:
    _add(_name)
