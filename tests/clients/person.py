"""A person at a browser without JavaScript, for clients under test: signs in, allows all that is asked for, and answers
where the browser is sent then.  person.py URL EMAIL TOKEN also goes there, as a browser would."""

import html
import http.cookiejar
import re
import sys
import urllib.error
import urllib.parse
import urllib.request


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Person:
    def __init__(self, email: str, token: str):
        self.email, self.token = email, token
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(_Stay, cookies, urllib.request.ProxyHandler({}))

    def _open(self, url: str, form=None):
        """The page, or the place to go on to."""
        data = urllib.parse.urlencode(form).encode() if form is not None else None
        headers = {"Origin": "null", "Sec-Fetch-Site": "same-origin"} if form is not None else {}
        try:
            with self.opener.open(urllib.request.Request(url, data, headers), timeout=60) as answer:
                return answer.read().decode(), None
        except urllib.error.HTTPError as answer:
            if answer.code == 303:
                return None, urllib.parse.urljoin(url, answer.headers["Location"])
            raise RuntimeError(f"{answer.code}: {answer.read().decode()}") from None

    def approve(self, url: str) -> str:
        """Follows an authorization request to its end."""
        page, location = self._open(url)
        if location:
            return location
        if 'action="/sign-in"' in page:
            hidden = _hidden(page)
            form = [("csrf", hidden["csrf"]), ("next", hidden["next"]), ("email", self.email), ("secret", self.token)]
            page, location = self._open(urllib.parse.urljoin(url, "/sign-in"), form)
            page, location = self._open(location)
        hidden = _hidden(page)
        scopes = re.findall(r'name="scope" value="(\w+)"', page)
        form = [("csrf", hidden["csrf"]), ("request", hidden["request"]), ("decision", "allow"), ("scope", scopes[-1])]
        form += [("connection", each) for each in re.findall(r'name="connection" value="([^"]+)"', page)]
        _, location = self._open(urllib.parse.urljoin(url, "/authorize/decision"), form)
        return location


def _hidden(page: str) -> dict:
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    return {name: html.unescape(value) for name, value in reversed(found)}


if __name__ == "__main__":
    place = Person(sys.argv[2], sys.argv[3]).approve(sys.argv[1])
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(place, timeout=60).read()
