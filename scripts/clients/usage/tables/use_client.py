"""Loads every module of the generated client, and uses names and types that a person would choose."""

import importlib
import pkgutil

import client
from client import AuthenticatedClient
from client.api.table_track import track_create, track_list
from client.models import Track, TrackCreate, TrackPage

for module in pkgutil.walk_packages(client.__path__, "client."):
    importlib.import_module(module.name)

assert TrackPage.__annotations__["items"] == "list[Track]"


def list_names(server: AuthenticatedClient) -> list[str]:
    answer = track_list.sync(client=server, filter_="unit_price > 1")
    return [track.name for track in answer.items] if isinstance(answer, TrackPage) else []


def create(server: AuthenticatedClient) -> int | None:
    answer = track_create.sync(client=server, body=TrackCreate(name="Highway Star", unit_price=0.99))
    return answer.track_id if isinstance(answer, Track) else None
