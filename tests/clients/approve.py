"""Approves an authorization request and prints where the browser is sent then.  approve.py URL EMAIL TOKEN"""

import sys

from person import Person

print(Person(sys.argv[2], sys.argv[3]).approve(sys.argv[1]))
