"""Lists the tools of a running demo and calls two, with PyPI's `mcp` (2.x).

    pip install mcp
    python examples/mcp-clients/python_client.py [portico-demo/credentials.json] [auto|legacy|2026-07-28]
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main(path: str, mode: str) -> None:
    with open(path, encoding="utf-8") as file:
        credentials = json.load(file)
    async with httpx2.AsyncClient() as http:
        form = {
            "grant_type": "client_credentials",
            "client_id": credentials["clientId"],
            "client_secret": credentials["clientSecret"],
        }
        token = (await http.post(credentials["authUrl"], data=form)).json()["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers) as http:
        transport = streamable_http_client(credentials["mcpUrl"], http_client=http)
        async with Client(transport, mode=mode) as client:
            tools = await client.list_tools()
            print(", ".join(tool.name for tool in tools.tools))
            query = {"query": "SELECT status, count(*) AS orders FROM orders GROUP BY status", "format": "markdown"}
            result = await client.call_tool("execute_select", query)
            print(result.content[0].text)
            wrong = await client.call_tool("execute_select", {"query": "SELECT * FROM custmers"})
            print("is_error:", wrong.is_error)
            print(wrong.content[0].text)


asyncio.run(
    main(
        sys.argv[1] if len(sys.argv) > 1 else "portico-demo/credentials.json",
        sys.argv[2] if len(sys.argv) > 2 else "auto",
    )
)
