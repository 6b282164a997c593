#!/bin/sh
# Calls a running demo (`cargo run --release -- demo`) in every way there is, with curl and jq.
set -eu
credentials=${1:-portico-demo/credentials.json}
get() { jq -r ".$1" "$credentials"; }

echo "== a query by a program, with a personal access token"
curl -s "$(get baseUrl)/api/query" -u "$(get user):$(get pat)" -H 'Content-Type: application/json' -d '{
  "query": "SELECT country, count(*) AS customers FROM shop.main.customers GROUP BY country ORDER BY customers DESC LIMIT 3"}' | jq -c .results[0].rows

echo "== the same with a bound parameter"
curl -s "$(get baseUrl)/api/query" -u "$(get user):$(get pat)" -H 'Content-Type: application/json' -d '{
  "query": "SELECT id, ordered_at, status FROM shop.main.orders WHERE customer_id = @customer ORDER BY id LIMIT 3",
  "parameters": {"@customer": {"value": 7}}}' | jq -c .results[0].rows

echo "== over two connections, by a workspace's names"
curl -s "$(get baseUrl)/api/query?workspace=store" -u "$(get user):$(get pat)" -H 'Content-Type: application/json' -d '{
  "query": "SELECT * FROM reports.tickets_by_country ORDER BY tickets DESC LIMIT 3"}' | jq -c .results[0].rows

echo "== rows as objects, and long numbers as strings, for JavaScript"
curl -s "$(get baseUrl)/api/query?rows=objects&numbers=text" -u "$(get user):$(get pat)" -H 'Content-Type: application/json' -d '{
  "query": "SELECT sku, name, price FROM shop.main.products ORDER BY price DESC LIMIT 2"}' | jq -c .results[0].rows

echo "== a procedure"
curl -s "$(get baseUrl)/api/exec" -u "$(get user):$(get pat)" -H 'Content-Type: application/json' -d '{
  "procedure": "shop.main.top_products", "parameters": {"top": 3}}' | jq -c .results[0].rows

echo "== an access token for an agent"
token=$(curl -s "$(get authUrl)" -d grant_type=client_credentials -d "client_id=$(get clientId)" -d "client_secret=$(get clientSecret)" | jq -r .access_token)

mcp() { curl -s "$(get mcpUrl)" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d "$1"; }

echo "== its tools"
mcp '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | jq -r '.result.tools[].name'

echo "== one of them called"
mcp '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_select","arguments":{
  "query":"SELECT name, price FROM products WHERE price > @least ORDER BY price DESC LIMIT 3","parameters":{"least":100},"format":"markdown"}}}' |
  jq -r '.result.content[0].text'
