"""One run of PyPI's `mcp` client: python client.py URL TOKEN MODE [PROGRAM].

With PROGRAM, the client launches `PROGRAM stdio`, which goes to the same address.
"""

import asyncio
import contextlib
import sys
import urllib.parse

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@contextlib.asynccontextmanager
async def connected(url: str, token: str, mode: str, program: str | None):
    if program is None:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
            async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                yield client
    else:
        place = urllib.parse.urlsplit(url)
        arguments = ["stdio", "--server", f"{place.scheme}://{place.netloc}", "--connection", place.path.split("/")[-1]]
        launched = StdioServerParameters(command=program, args=arguments, env={"PORTICO_TOKEN": token})
        async with Client(stdio_client(launched), mode=mode) as client:
            yield client


async def main(url: str, token: str, mode: str, program: str | None = None) -> None:
    async with connected(url, token, mode, program) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "execute_select" in names, names

        told = []

        async def hear(progress, _total, _message) -> None:
            told.append(progress)

        result = await client.call_tool("execute_select", {"query": "SELECT 7 AS n"}, progress_callback=hear)
        assert not result.is_error and result.structured_content["rows"] == [[7]], result
        assert told and told == sorted(told), told

        wrong = await client.call_tool("execute_select", {"query": "SELECT * FROM custmers"})
        assert wrong.is_error and "customers" in wrong.content[0].text, wrong

        running = asyncio.Event()

        async def begun(_progress, _total, _message) -> None:
            running.set()

        call = asyncio.create_task(
            client.call_tool("execute_select", {"query": ENDLESS}, progress_callback=begun)
        )
        await running.wait()
        call.cancel()
        try:
            await call
            raise AssertionError("the cancelled call has an answer")
        except asyncio.CancelledError:
            pass
        # It has hurt nothing.
        again = await client.call_tool("execute_select", {"query": "SELECT 8 AS n"})
        assert again.structured_content["rows"] == [[8]], again
        print(f"{client.protocol_version}, {len(names)} tools")


asyncio.run(main(*sys.argv[1:5]))
