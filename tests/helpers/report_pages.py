"""Pages of the report, taken apart."""

import base64
import hashlib
import re
from html import unescape
from html.parser import HTMLParser

VOID = {"meta", "img", "input", "br", "hr", "link"}
NASTY = "\"><script>alert(1)</script>'&{{ 7*7 }}"


class Page(HTMLParser):
    """Tags with attributes and the text inside them; complains of tags left open."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.stack, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.texts.append((tuple(self.stack), data))

    @property
    def ids(self):
        return {attrs["id"] for _, attrs in self.tags if "id" in attrs}

    def all(self, tag, **wanted):
        wanted = {key.rstrip("_"): value for key, value in wanted.items()}
        return [a for t, a in self.tags if t == tag and all(a.get(k) == wanted[k] for k in wanted)]


def without_script(text):
    """A page without its one script, which must be ours and the only one that a browser is told to run."""
    script = re.search(r"<script>(.*?)</script>", text, re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert "Tables sort by their headers" in script
    return text.replace(f"<script>{script}</script>", "")


def row_cells(text, table):
    """Texts of the cells, row by row, of the table with this class."""
    body = re.search(rf'<table class="{table}"[^>]*>.*?<tbody>(.*?)</tbody>', text, re.S).group(1)
    rows = re.findall(r"<tr.*?</tr>", body, re.S)
    plain = lambda cell: " ".join(re.sub(r"<[^>]*>", " ", cell).split())
    return [[plain(c) for c in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)] for row in rows]


def section(text, place):
    """The markup of the section with this id."""
    return re.search(rf'<section id="{place}".*?</section>', text, re.S).group(0)


def notes(text):
    """Texts of the paragraphs and items of a page or section, in their order."""
    parts = re.findall(r"<(?:p|li)[^>]*>(.*?)</(?:p|li)>", text, re.S)
    return [unescape(re.sub(r"<[^>]*>", "", part)) for part in parts]
