"""A random walk of two tenants through all that could show somebody what is not theirs.

Each text carries a mark that says whose it is: `mark-<tenant>-<scope>-<n>`. Tenants have users and spaces of the same
names, so that only the tenant tells them apart. After each step that reads, every mark in the answer must be one that
the caller may see at that moment, and a group's window shows marks of its space only, or of the one who speaks.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

import httpx

TENANTS, USERS, SPACES = ("a", "b"), ("u0", "u1", "u2"), ("s0", "s1")
MARK = re.compile(r"mark-([ab])-([us]\d)-\d+")
LIFE = 400
"""Steps after which a tenant's users and spaces are erased: what is gone must not come back, and rows stay few."""


class Asked(Protocol):
    def __call__(
        self, tenant: str, user: str | None, method: str, path: str, json: Any = None, **params: Any
    ) -> httpx.Response: ...


@dataclass
class _Tenant:
    name: str
    rights: dict[str, dict[str, str]] = field(default_factory=dict)
    """Of each space, by user."""
    reads: dict[str, set[str]] = field(default_factory=dict)
    """The spaces that a user's conversation names, by its id."""
    talks: dict[str, set[str]] = field(default_factory=dict)
    """Conversations of a space or a user, by scope."""
    age: int = 0

    def spaces_of(self, user: str) -> set[str]:
        return {space for space, members in self.rights.items() if user in members}

    def seen_by(self, user: str) -> set[str]:
        return {user, *self.spaces_of(user)}


class Walk:
    """Steps chosen by a seed. ``asked`` sends a request of a user of a tenant, or of one that sees all users."""

    def __init__(self, asked: Asked, seed: int) -> None:
        self._asked, self._rng, self._number = asked, Random(seed), 0
        self._tenants = [_Tenant(name) for name in TENANTS]
        self.read = 0
        """Answers in which marks were looked for, and …"""
        self.marks = 0
        """… marks that were rightly in them."""
        steps: dict[Callable[[_Tenant], None], int] = {
            self._talk: 8, self._talk_in_space: 6, self._hold: 4, self._hold_in_space: 3, self._change_member: 4,
            self._own_window: 6, self._group_window: 8, self._search: 6, self._list: 4, self._export: 1,
            self._child: 2, self._served: 2, self._trespass: 6, self._forget: 2,
        }  # fmt: skip
        self._steps, self._weights = list(steps), list(steps.values())

    def step(self) -> None:
        tenant = self._rng.choice(self._tenants)
        tenant.age += 1
        if tenant.age % LIFE == 0:
            self._erase(tenant)
        if not tenant.rights:
            self._begin(tenant)
        self._rng.choices(self._steps, self._weights)[0](tenant)

    # --- What is there ---------------------------------------------------------------------------------

    def _begin(self, tenant: _Tenant) -> None:
        for space in SPACES:
            members = {user: self._rng.choice(("read", "write")) for user in USERS if self._rng.random() < 0.7}
            members[self._rng.choice(USERS)] = "write"
            names = {f"{user.upper()} {space}": user for user in members}
            body = {"id": space, "members": members, "participants": names}
            assert self._asked(tenant.name, None, "POST", "/spaces", body).status_code == 201
            tenant.rights[space] = members

    def _erase(self, tenant: _Tenant) -> None:
        for space in tenant.rights:
            assert self._asked(tenant.name, None, "DELETE", f"/spaces/{space}").status_code == 200
        for user in USERS:
            assert self._asked(tenant.name, None, "DELETE", f"/users/{user}").status_code == 200
        tenant.rights, tenant.reads, tenant.talks = {}, {}, {}
        for user in USERS:
            answer = self._search_as(tenant, user)
            assert not MARK.search(answer.text), answer.text

    def _mark(self, tenant: _Tenant, scope: str) -> str:
        self._number += 1
        return f"mark-{tenant.name}-{scope}-{self._number}"

    def _text(self, tenant: _Tenant, scope: str) -> str:
        mark = self._mark(tenant, scope)
        return self._rng.choice((f"Always mention {mark} in answers.", f"The boiler is at {mark}.", f"Call me {mark}."))

    def _user(self) -> str:
        return self._rng.choice(USERS)

    def _space(self) -> str:
        return self._rng.choice(SPACES)

    def _talk_of(self, tenant: _Tenant, scope: str) -> str | None:
        known = tenant.talks.get(scope)
        return self._rng.choice(sorted(known)) if known else None

    def _may_see(self, answer: httpx.Response, tenant: _Tenant, scopes: set[str]) -> None:
        """Every mark in an answer is of the tenant, and of one of some scopes."""
        self.read += 1
        for mark in MARK.finditer(answer.text):
            assert mark[1] == tenant.name, f"{mark[0]} of another tenant in {answer.request.url}"
            assert mark[2] in scopes, f"{mark[0]} in {answer.request.method} {answer.request.url} of {sorted(scopes)}"
            self.marks += 1

    # --- Steps that write ------------------------------------------------------------------------------

    def _talk(self, tenant: _Tenant) -> None:
        user = self._user()
        name = f"{user}-{self._rng.randrange(3)}"
        if name not in tenant.talks.get(user, ()):
            spaces = sorted(space for space in tenant.spaces_of(user) if self._rng.random() < 0.5)
            answer = self._asked(tenant.name, user, "POST", "/conversations", {"id": name, "spaces": spaces})
            assert answer.status_code == 201, answer.text
            tenant.talks.setdefault(user, set()).add(name)
            tenant.reads[name] = set(spaces)
        message = {"role": "user", "content": self._text(tenant, user)}
        answer = self._asked(tenant.name, user, "POST", f"/conversations/{name}/messages", {"messages": [message]})
        assert answer.status_code == 201, answer.text

    def _talk_in_space(self, tenant: _Tenant) -> None:
        space, user = self._space(), self._user()
        name = f"{space}-{self._rng.randrange(2)}"
        message = {"role": "user", "content": self._text(tenant, space), "name": f"{user.upper()} {space}"}
        body = {"messages": [message], **({} if name in tenant.talks.get(space, ()) else {"space_id": space})}
        answer = self._asked(tenant.name, user, "POST", f"/conversations/{name}/messages", body)
        if tenant.rights[space].get(user) == "write":
            assert answer.status_code == 201, answer.text
            tenant.talks.setdefault(space, set()).add(name)
        else:
            assert answer.status_code in (403, 404), answer.text

    def _hold(self, tenant: _Tenant) -> None:
        user = self._user()
        body = {"content": self._text(tenant, user), "user_id": user, "pinned": self._rng.random() < 0.6}
        if self._rng.random() < 0.3:
            body["key"] = self._rng.choice(("name", "place"))
        assert self._asked(tenant.name, user, "POST", "/memories", body).status_code == 201

    def _hold_in_space(self, tenant: _Tenant) -> None:
        user, space = self._user(), self._space()
        body = {"content": self._text(tenant, space), "scope": f"space:{space}", "pinned": self._rng.random() < 0.6}
        status = self._asked(tenant.name, user, "POST", "/memories", body).status_code
        assert (status == 201) == (tenant.rights[space].get(user) == "write")

    def _change_member(self, tenant: _Tenant) -> None:
        space, user = self._space(), self._user()
        at, members = f"/spaces/{space}/members/{user}", tenant.rights[space]
        if user in members and self._rng.random() < 0.6:
            answer = self._asked(tenant.name, None, "DELETE", at)
            if answer.status_code == 200:
                del members[user]
                for name in tenant.talks.get(user, ()):
                    tenant.reads[name].discard(space)
        else:
            right = self._rng.choice(("read", "write"))
            answer = self._asked(tenant.name, None, "PUT", at, {"right": right})
            if answer.status_code == 200:
                members[user] = right
        assert answer.status_code in (200, 409), answer.text
        assert "write" in members.values()

    def _forget(self, tenant: _Tenant) -> None:
        user = self._user()
        answer = self._asked(tenant.name, user, "GET", "/memories", limit=5)
        self._may_see(answer, tenant, tenant.seen_by(user))
        for one in answer.json()["items"][:1]:
            path = f"/memories/{one['memory_key']}"
            assert self._asked(tenant.name, user, "DELETE", path).status_code in (200, 403)

    # --- Steps that read -------------------------------------------------------------------------------

    def _own_window(self, tenant: _Tenant) -> None:
        user = self._user()
        if (name := self._talk_of(tenant, user)) is not None:
            asked = {"query": "boiler"} if self._rng.random() < 0.4 else {}
            answer = self._asked(tenant.name, user, "GET", f"/conversations/{name}/context", **asked)
            self._may_see(answer, tenant, {user, *tenant.reads[name]})

    def _group_window(self, tenant: _Tenant) -> None:
        space, user = self._space(), self._rng.choice((*USERS, None))
        speaker = self._rng.choice((*USERS, "nobody", None))
        asked = {"query": "boiler"} if self._rng.random() < 0.4 else {}
        if speaker is not None:
            asked["speaker"] = f"{speaker.upper()} {space}"
        if (name := self._talk_of(tenant, space)) is None:
            return
        answer = self._asked(tenant.name, user, "GET", f"/conversations/{name}/context", **asked)
        members = tenant.rights[space]
        assert (answer.status_code == 200) == (user is None or user in members), answer.text
        hers = {speaker} if speaker in members and user in (None, speaker) else set()
        self._may_see(answer, tenant, {space, *hers})

    def _search_as(self, tenant: _Tenant, user: str) -> httpx.Response:
        body = {"query": "the boiler, always", "limit": 50, "min_relevance_score": 0}
        return self._asked(tenant.name, user, "POST", "/memories/search", body)

    def _search(self, tenant: _Tenant) -> None:
        user = self._user()
        self._may_see(self._search_as(tenant, user), tenant, tenant.seen_by(user))
        space = self._space()
        body = {"query": "boiler", "scopes": [f"space:{space}"], "min_relevance_score": 0}
        answer = self._asked(tenant.name, user, "POST", "/memories/search", body)
        assert (answer.status_code == 200) == (user in tenant.rights[space])
        self._may_see(answer, tenant, {space})

    def _list(self, tenant: _Tenant) -> None:
        user, status = self._user(), self._rng.choice(("held", "proposed"))
        answer = self._asked(tenant.name, user, "GET", "/memories", limit=100, status=status)
        self._may_see(answer, tenant, tenant.seen_by(user))

    def _export(self, tenant: _Tenant) -> None:
        user, space = self._user(), self._space()
        self._may_see(self._asked(tenant.name, user, "GET", f"/users/{user}/export"), tenant, tenant.seen_by(user))
        answer = self._asked(tenant.name, user, "GET", f"/spaces/{space}/export")
        assert (answer.status_code == 200) == (user in tenant.rights[space])
        self._may_see(answer, tenant, {space})

    def _child(self, tenant: _Tenant) -> None:
        """A sub-agent reads its parent's view, and is of no right besides."""
        user = self._user()
        parent = self._talk_of(tenant, user)
        if parent is None:
            return
        self._number += 1
        child, shares = f"{user}-child-{self._number}", self._rng.choice(("none", "read", "write"))
        body = {"id": child, "parent": parent, "shares": shares}
        assert self._asked(tenant.name, user, "POST", "/conversations", body).status_code == 201
        message = {"role": "user", "content": self._text(tenant, user)}
        self._asked(tenant.name, user, "POST", f"/conversations/{child}/messages", {"messages": [message]})
        answer = self._asked(tenant.name, user, "GET", f"/conversations/{child}/context", query="boiler")
        self._may_see(answer, tenant, {user, *(tenant.reads[parent] if shares != "none" else ())})
        other = self._rng.choice([one for one in USERS if one != user])
        assert self._asked(tenant.name, other, "GET", f"/conversations/{child}/context").status_code == 404

    def _served(self, tenant: _Tenant) -> None:
        """The record of a group's windows is the members', and shows them nothing of each other."""
        space, user = self._space(), self._user()
        if (name := self._talk_of(tenant, space)) is None:
            return
        answer = self._asked(tenant.name, user, "GET", f"/conversations/{name}/windows", limit=3)
        assert (answer.status_code == 200) == (user in tenant.rights[space])
        for one in answer.json().get("items", ()):
            at = f"/conversations/{name}/windows/{one['id']}"
            self._may_see(self._asked(tenant.name, user, "GET", at), tenant, {space})

    def _trespass(self, tenant: _Tenant) -> None:
        """Ask for what is somebody else's: of another user, of a space of strangers, of the other tenant."""
        user = self._user()
        other = self._rng.choice([one for one in USERS if one != user])
        strange = [space for space in SPACES if user not in tenant.rights[space]]
        paths = [(f"/users/{other}/export", {}), ("/memories", {"user_id": other})]
        paths += [(f"/conversations/{name}/context", {}) for name in sorted(tenant.talks.get(other, ()))]
        for space in strange:
            paths += [(f"/spaces/{space}", {}), (f"/spaces/{space}/members", {}), (f"/spaces/{space}/export", {})]
            paths += [("/memories", {"scope": f"space:{space}"})]
            paths += [(f"/conversations/{name}/messages", {}) for name in sorted(tenant.talks.get(space, ()))]
        path, asked = self._rng.choice(paths)
        answer = self._asked(tenant.name, user, "GET", path, **asked)
        assert answer.status_code in (403, 404), f"{path}: {answer.text}"
        self._may_see(answer, tenant, set())
