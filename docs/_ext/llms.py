"""``llms.txt``: every page of the site with its title and first sentence, for programs that read it."""

from docutils import nodes


def first_sentence(document):
    """The first sentence of the first paragraph of a page, as plain text."""
    text = " ".join(next((p.astext() for p in document.findall(nodes.paragraph)), "").split())
    head, stop, _ = text.partition(". ")
    return head + "." if stop else head


def write_llms(app, error):
    """Write the list beside the pages, in the order of the table of contents."""
    if error or app.builder.format != "html":
        return
    env, home = app.env, app.config.root_doc
    seen, queue = [], [home]
    while queue:
        page = queue.pop(0)
        if page not in seen:
            seen.append(page)
            queue = [*env.toctree_includes.get(page, []), *queue]
    lines = [f"# {app.config.project}", "", f"> {first_sentence(env.get_doctree(home))}", ""]
    for page in seen[1:]:
        if page in env.toctree_includes.get(home, []):
            lines += ["", f"## {env.titles[page].astext()}", ""]
        words = first_sentence(env.get_doctree(page))
        lines.append(
            f"- [{env.titles[page].astext()}]({app.builder.get_target_uri(page)}): {words}".rstrip(": ")
        )
    (app.outdir / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def setup(app):
    app.connect("build-finished", write_llms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
