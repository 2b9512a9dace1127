"""A queue whose clients are served in turns, so that nobody waits for another client's backlog."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Turns(Generic[Item]):
    """Items by client. The client served longest ago is next; the items of one client keep their order."""

    def __init__(self) -> None:
        self._items: OrderedDict[str, list[Item]] = OrderedDict()

    def put(self, client: str, item: Item) -> None:
        self._items.setdefault(client, []).append(item)

    def take(self, fits: Callable[[str, Item], bool] = lambda _client, _item: True) -> Item | None:
        """The next item that `fits`; None: there is none."""
        for client, items in self._items.items():
            for item in items:
                if fits(client, item):
                    self._items.move_to_end(client)
                    self.remove(client, item)
                    return item
        return None

    def remove(self, client: str, item: Item) -> bool:
        """Take an item out of the queue; False: it was not there any more."""
        items = self._items.get(client, [])
        if item not in items:
            return False
        items.remove(item)
        if not items:
            del self._items[client]
        return True

    def make_room(self, client: str) -> Item | None:
        """Take out the newest item of the client with the longest queue, if an item of `client` deserves its place."""
        longest = max(self._items, key=lambda each: len(self._items[each]), default=client)
        if len(self._items.get(longest, [])) <= len(self._items.get(client, [])) + 1:
            return None
        newest = self._items[longest][-1]
        self.remove(longest, newest)
        return newest
