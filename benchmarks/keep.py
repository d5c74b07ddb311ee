"""Results in a JSON file, kept as they are found, so that an interrupted run continues."""

import json
import os

from paper import version_of_code

FORMAT = 2
# What a pass runs.
CODE = "data", "model", "baselines"


class Results:
    """Results by key, such as ``race/reuters-twin/FSDS``; with a path also in a file.

    Parameters
    ----------
    path : path, optional
        File to continue, and to keep. One of another format is started anew.
    again : list of str, optional
        Beginnings of the keys to forget first; an empty list forgets all.
    only : list of str
        Beginnings of the keys to find; by default all.
    """

    def __init__(self, path=None, again=None, only=()):
        self.path, self.only = path, tuple(only)
        self.code = version_of_code(CODE)
        self.found = {} if again == [] else self._stored()
        for key in [key for key in self.found if key.startswith(tuple(again or ()))]:
            del self.found[key]
        self._forgotten = [] if again is None else again or [""]
        self._write()

    def __getitem__(self, key):
        return self.found[key]

    def get(self, key):
        """Return what was found, or nothing."""
        return self.found.get(key)

    def wanted(self, key):
        """Tell whether a result is asked for and missing."""
        return self.asked(key) and key not in self.found

    def asked(self, key):
        """Tell whether a result is asked for, found or not."""
        return not self.only or key.startswith(self.only)

    def put(self, key, value):
        """Keep a result, beside what another run has put into the file meanwhile."""
        others = self._stored()
        kept = {k: v for k, v in others.items() if not k.startswith(tuple(self._forgotten))}
        self.found = {**kept, **self.found, key: {**value, "code": self.code}}
        self._write()

    def older(self):
        """Return the keys of results that other code of the library gave."""
        return sorted(k for k, v in self.found.items() if v.get("code") != self.code)

    def _stored(self):
        if self.path is None or not self.path.exists():
            return {}
        stored = json.loads(self.path.read_text(encoding="utf-8"))
        return stored["results"] if stored.get("format") == FORMAT else {}

    def _write(self):
        if self.path is None:
            return
        # A line a result, so that two files differ where results do.
        lines = ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in self.found.items())
        text = f'{{"format": {FORMAT}, "code": "{self.code}", "results": {{\n{lines}\n}}}}\n'
        part = self.path.with_name(self.path.name + ".part")
        part.write_text(text, encoding="utf-8")
        os.replace(part, self.path)
