"""Loads every module of the generated client, and uses names and types that a person would choose."""

import importlib
import pkgutil

import client
from client import AuthenticatedClient
from client.api.webhooks import webhooks_create, webhooks_list
from client.models import Error, Webhook, WebhooksCreateInput, WebhooksListResult

for module in pkgutil.walk_packages(client.__path__, "client."):
    importlib.import_module(module.name)

assert WebhooksListResult.__annotations__["items"] == "list[Webhook]"


def list_urls(server: AuthenticatedClient) -> list[str]:
    answer = webhooks_list.sync(client=server)
    return [webhook.url for webhook in answer.items] if isinstance(answer, WebhooksListResult) else []


def create(server: AuthenticatedClient) -> Webhook | Error | None:
    body = WebhooksCreateInput(url="https://example.com/hook", tables=["track"])
    return webhooks_create.sync(client=server, body=body)
