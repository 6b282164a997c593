"""The official Python client's own OAuth flow, from a bare 401 to a tool's result: discovery, registration, PKCE, the
code grant with a person's consent, and a refresh.
  oauth_python.py CREDENTIALS.json        as `portico demo` writes it; needs `pip install mcp==2.3.0`"""

import asyncio
import json
import sys
import urllib.parse

import httpx2
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

from person import Person


class Memory(TokenStorage):
    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


async def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        demo = json.load(file)
    person, answer = Person(demo["user"], demo["pat"]), {}

    async def redirect(url):
        place = await asyncio.to_thread(person.approve, url)
        answer.update(urllib.parse.parse_qsl(urllib.parse.urlsplit(place).query))

    async def callback():
        from mcp.client.auth import AuthorizationCodeResult

        return AuthorizationCodeResult(code=answer["code"], state=answer.get("state"), iss=answer.get("iss"))

    metadata = OAuthClientMetadata(client_name="Python client", redirect_uris=["http://127.0.0.1:33418/callback"])
    memory = Memory()
    provider = OAuthClientProvider(demo["mcpUrl"], metadata, memory, redirect, callback)

    async def call():
        async with httpx2.AsyncClient(auth=provider, timeout=60) as client:
            async with streamable_http_client(demo["mcpUrl"], http_client=client) as streams:
                async with ClientSession(streams[0], streams[1]) as session:
                    await session.initialize()
                    found = await session.call_tool("execute_select", {"query": "SELECT count(*) AS n FROM orders"})
                    assert not found.is_error, found
                    return found.structured_content["rows"]

    rows = await call()
    first = memory.tokens.refresh_token
    # As if an hour had passed.
    provider.context.token_expiry_time = 1
    assert await call() == rows
    assert memory.tokens.refresh_token != first, "it was not refreshed"
    print(f"ok: {rows} with {memory.tokens.scope!r}, refreshed")


asyncio.run(main())
