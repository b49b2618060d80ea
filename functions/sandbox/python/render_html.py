"""A page without external content, from a model-written page."""

import html
import re

from clean_html import Cleaner, write_inside
from render import Unrenderable

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'"

_FONTS = ('system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"PingFang SC","Hiragino Sans GB",'
          '"Microsoft YaHei","Noto Sans SC","Noto Sans CJK SC",sans-serif')
# The style of a page without a style of its own.
_SHEET = f"""
body{{max-width:52rem;margin:0 auto;padding:2.5rem 1.25rem 4rem;font:16px/1.65 {_FONTS};color:#1f2933;background:#fff}}
h1,h2,h3,h4{{line-height:1.25;color:#1f4e79;margin:1.8em 0 .6em}}h1{{font-size:2rem;margin-top:0}}
h2{{font-size:1.45rem;border-bottom:1px solid #dce3ea;padding-bottom:.25em}}h3{{font-size:1.15rem}}
table{{border-collapse:collapse;width:100%;margin:1.2em 0;font-size:.94em}}
th,td{{border:1px solid #d3dae2;padding:.45em .7em;text-align:left;vertical-align:top}}th{{background:#e8eff7}}
tr:nth-child(even) td{{background:#f7f9fb}}img,svg{{max-width:100%;height:auto}}
img{{display:block;margin:1.2em auto}}a{{color:#0b62c4}}
pre{{background:#f3f5f7;padding:.9em 1em;overflow:auto;border-radius:6px;font-size:.88em}}
code{{font-family:ui-monospace,Consolas,Menlo,monospace;background:#f3f5f7;padding:.1em .3em;border-radius:4px}}
pre code{{padding:0}}blockquote{{margin:1.2em 0;padding:.2em 1.1em;border-left:4px solid #c5d3e2;color:#52606d}}
@media print{{body{{max-width:none;padding:0}}table,img,svg,pre{{break-inside:avoid}}}}
"""
# Required style of every page.
_BASE = "img,svg{max-width:100%}@media print{*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}"

_FENCE = re.compile(r"```[ \t]*(?:html|HTML)[ \t]*\r?\n(.*?)(?:\n[ \t]*```|$)", re.DOTALL)
_WHOLE_FENCE = re.compile(r"\s*```\w*[ \t]*\r?\n(.*?)(?:\n[ \t]*```\s*)?", re.DOTALL)
_TAG = re.compile(r"<(!doctype|html|head|body|div|p|section|article|main|table|h[1-6]|ul|ol|svg|style|span|img|header)\b",
                  re.IGNORECASE)
_DOCUMENT = re.compile(r"<!doctype html|<html\b", re.IGNORECASE)


def clean_page(task):
    """Returns the `Cleaner` that has read the text of a task, as HTML or otherwise as Markdown.

    Raises `Unrenderable` if no visible content is left.
    """
    cleaner = Cleaner(task)
    cleaner.read(_as_html(task.text))
    shows = any(True for _ in cleaner.body.find_all(lambda element: element.name in ("img", "svg")))
    if not cleaner.body.text().strip() and not shows:
        raise Unrenderable("empty")
    return cleaner


def _as_html(text):
    fenced = _WHOLE_FENCE.fullmatch(text) or _FENCE.search(text)
    if fenced and not _DOCUMENT.search(text[:fenced.start(1)]):
        text = fenced[1]
    document = _DOCUMENT.search(text)
    if document:
        # Removes the model's words before and after its page.
        end = text.lower().rfind("</html>")
        return text[document.start():] if end < 0 else text[document.start():end]
    if _TAG.search(text):
        return text
    from markdown_it import MarkdownIt

    from markdown import parted

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 60}).enable(["table", "strikethrough"])
    return parser.render(parted(text))


def render_page(task):
    """Returns the bytes of a page."""
    cleaner = clean_page(task)
    sheets = [_BASE, *(cleaner.sheets or [_SHEET])]
    title = task.title or cleaner.title.strip() or heading_of(cleaner.body)
    body = cleaner.body
    told = "".join(f' {key}="{html.escape(value)}"' for key, value in body.attributes.items())
    return page(task, title, POLICY, sheets, f"<body{told}>\n{write_inside(body)}\n</body>")


def heading_of(body):
    """Returns the text of the first heading."""
    found = next(body.find_all(lambda element: element.name in ("h1", "h2", "h3")), None)
    return " ".join(found.text().split())[:200] if found else ""


def page(task, title, policy, sheets, body):
    """Returns the bytes of a page of these parts: first a policy, which applies to everything after it."""
    from words import words

    title = html.escape(title or words(task.language, "untitled"), quote=False)
    language = "zh-CN" if task.language == "zh" else "en"
    styles = "\n".join(f"<style>{sheet}</style>" for sheet in sheets)
    return (f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n'
            f'{styles}\n</head>\n{body}\n</html>\n').encode(errors="replace")
