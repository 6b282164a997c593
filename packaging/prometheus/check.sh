#!/usr/bin/env bash
# Checks the alert rules with Prometheus' own tool, where it can be had.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v promtool >/dev/null 2>&1; then
  echo "there is no promtool: the alert rules are not checked"
  exit 0
fi
promtool check rules alerts.yml
promtool test rules alerts_test.yml
