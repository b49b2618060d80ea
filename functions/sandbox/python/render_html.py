"""A page without external content, from a model-written page or from Markdown."""

import base64
import html
import re

import house
from chart import draw_chart
from clean_html import Cleaner, write_inside
from markdown import Run
from render import Unrenderable, read_blocks
from words import words

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'"

FONTS = ('system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"PingFang SC","Hiragino Sans GB",'
          '"Microsoft YaHei","Noto Sans SC","Noto Sans CJK SC",sans-serif')
LIGHT = (f"--ink:#{house.INK};--soft:#{house.SOFT_INK};--accent:#{house.ACCENT};--second:#{house.SECOND};"
          f"--line:#{house.LINES};--head:#{house.HEAD};--dark:#{house.DARK};--ground:#{house.SOFT};--paper:#fff;--link:#{house.LINK};--up:#1b8a5a;--down:#c8475b")
_DARK = ("--ink:#e6ebf0;--soft:#a3b0bd;--accent:#8cc3ea;--second:#f0b266;--line:#36424e;--head:#22303c;"
         "--ground:#1b242d;--paper:#12181f;--link:#8cc3ea;--up:#4cc38a;--down:#f0808f")
# Styles of parts of both pages and slides; every rule of the model wins over this layer.
PARTS = f"""
.cards{{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:1rem;margin:1.4em 0}}
.card{{background:var(--paper);border:1px solid var(--line);border-top:4px solid var(--accent);border-radius:10px;padding:1rem 1.2rem;display:flex;flex-direction:column;gap:.25rem}}
.card span{{color:var(--soft);font-size:.92em}}.card strong{{font-size:2em;line-height:1.15;font-variant-numeric:tabular-nums}}
.card small{{color:var(--soft)}}.card .up{{color:var(--up)}}.card .down{{color:var(--down)}}
.grid{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr));gap:1.2rem;margin:1.4em 0}}
.grid>*{{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:1.2rem;margin:0;min-width:0}}
.grid figure{{margin:0}}table{{border-collapse:collapse;width:100%;margin:1.3em 0;font-size:.95em;font-variant-numeric:tabular-nums}}
th,td{{border-bottom:1px solid var(--line);padding:.5em .7em;text-align:start;vertical-align:top}}
th{{color:var(--accent);border-bottom:2px solid var(--accent);vertical-align:bottom}}
td[align=right],th[align=right]{{text-align:end;white-space:nowrap}}td[align=center],th[align=center]{{text-align:center}}
figure{{margin:1.5em 0}}figure svg{{display:block;width:100%;height:auto}}figcaption{{color:var(--soft);font-size:.88em;margin-top:.5em}}
figure svg.narrow{{display:none!important}}.formula svg{{width:auto;max-width:100%;margin:0 auto}}img,svg{{max-width:100%;height:auto}}img{{display:block;margin:0 auto}}
a{{color:var(--link);text-underline-offset:.15em}}sup,sub{{line-height:0}}sup a,a:has(>sup){{text-decoration:none}}
pre{{background:var(--ground);border:1px solid var(--line);padding:.9em 1.1em;overflow:auto;border-radius:8px;font-size:.86em;line-height:1.5}}
code{{font-family:ui-monospace,Consolas,Menlo,monospace}}:not(pre)>code{{background:var(--ground);padding:.1em .35em;border-radius:4px;font-size:.92em}}
blockquote{{margin:1.4em 0;padding:.3em 0;padding-inline-start:1.2em;border-inline-start:4px solid var(--second);color:var(--soft)}}
blockquote p{{margin:.4em 0}}.tasks{{list-style:none;padding-inline-start:.2em}}svg,pre{{direction:ltr}}.tasks ul{{list-style:disc}}
"""
_SHEET = f"""@layer djinn{{:root{{color-scheme:light dark;{LIGHT}}}
@media screen and (prefers-color-scheme:dark){{:root{{{_DARK}}}}}
*{{box-sizing:border-box}}body{{max-width:50rem;margin:0 auto;padding:3rem 1.5rem 5rem;font:17px/1.65 {FONTS};color:var(--ink);background:var(--paper)}}
h1,h2,h3,h4{{line-height:1.25;margin:2em 0 .6em;text-wrap:balance}}h1{{font-size:2.2em;letter-spacing:-.015em;margin-top:0;padding-bottom:.45em;border-bottom:4px solid var(--accent)}}
h2{{font-size:1.5em;color:var(--accent)}}h3{{font-size:1.18em}}h4{{font-size:1em}}p,ul,ol{{margin:.8em 0}}li,li>ul,li>ol{{margin:.3em 0}}
hr{{border:0;border-top:1px solid var(--line);margin:2.2em 0}}.notes{{margin-top:3em;padding-top:1em;border-top:1px solid var(--line);font-size:.9em;color:var(--soft)}}
body.dashboard{{max-width:76rem;background:var(--ground)}}.dashboard header{{margin-bottom:1.6em}}.dashboard header p{{margin:.3em 0;color:var(--soft)}}
.dashboard h1{{border:0;padding:0;margin:0}}.dashboard>figure svg{{max-width:50rem}}.dashboard>table{{background:var(--paper);border:1px solid var(--line);border-radius:10px}}
{PARTS}.dashboard>table{{border-collapse:separate;border-spacing:0}}.dashboard>table tbody tr:last-child>td{{border-bottom:0}}
@media screen and (max-width:40rem){{body{{font-size:16px;padding:1.5rem 1rem 3rem}}table{{display:block;overflow-x:auto}}figure svg.narrow{{display:block!important}}figure svg:has(+.narrow){{display:none!important}}}}
@media print{{@page{{size:A4;margin:18mm 16mm}}body,body.dashboard{{max-width:none;padding:0;font-size:10.5pt;background:#fff}}h1,h2,h3{{break-after:avoid}}
table{{display:table}}thead{{display:table-header-group}}tr,figure,img,pre,.card,.grid>*{{break-inside:avoid}}p{{orphans:3;widows:3}}}}}}
"""


def dark_charts():
    """Returns the style of charts on the dark: their colors are made for paper."""
    rules = ['svg[role=img] [stroke="#FFFFFF"]{stroke:var(--paper)}']
    for color in house.SERIES:
        light = f"color-mix(in srgb,#{color} 65%,#fff)"
        rules += [f'svg[role=img] [{name}="#{color}"]{{{name}:{light}}}' for name in ("fill", "stroke")]
    return f"@layer djinn{{@media screen and (prefers-color-scheme:dark){{{''.join(rules)}}}}}"


def theme_sheet(body):
    """Returns the style of a deployment's theme over ours, with the fonts of the element `body`; none without a theme."""
    if not house.is_themed():
        return ""
    rules = [".logo{display:block;margin:0 0 1.5rem;margin-inline-start:auto;max-height:2.6rem;width:auto}",
             "@media screen and (prefers-color-scheme:dark){.logo{background:#fff;padding:.35rem;border-radius:.3rem}}",
             ".foot{margin-top:3rem;color:var(--soft);font-size:.85em}"]
    fonts = [f'"{getattr(house, name)}",' for name in ("LATIN", "CHINESE") if house.is_themed(name)]
    if fonts:
        rules.append(f"{body}{{font-family:{''.join(fonts)}{FONTS}}}")
    if house.is_themed("SERIES", "DARK"):
        rules.append(f":root{{--accent:#{house.ACCENT};--second:#{house.SECOND};--head:#{house.HEAD};--dark:#{house.DARK}}}")
    if house.is_themed("SERIES") and body == "body":
        light = [f"color-mix(in srgb,#{color} 55%,#fff)" for color in house.SERIES[:2]]
        rules.append(f"@media screen and (prefers-color-scheme:dark){{:root{{--accent:{light[0]};--second:{light[1]};"
                     f"--head:#22303c}}}}")
    return f"@layer djinn{{{''.join(rules)}}}"


# Required style of every page.
_BASE = "img,svg{max-width:100%}@media print{*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}"

_FENCE = re.compile(r"```[ \t]*(?:html|HTML)[ \t]*\r?\n(.*?)(?:\n[ \t]*```[ \t]*(?=\n|$)|$)", re.DOTALL)
_WHOLE_FENCE = re.compile(r"\s*```(?!chart)\w*[ \t]*\r?\n(.*?)(?:\n[ \t]*```\s*)?", re.DOTALL)
_CHART = re.compile(r"(?:<pre>\s*(?:<code[^>]*>)?\s*)?```[ \t]*chart[ \t]*\r?\n(.*?)\n[ \t]*```(?:\s*(?:</code>\s*)?</pre>)?", re.DOTALL)
_TAG = re.compile(r"<(!doctype|html|head|body|div|p|section|article|main|table|h[1-6]|ul|ol|svg|style|span|img|header)\b",
                  re.IGNORECASE)
_GRID = re.compile(r"""class=["'][^"']*\b(dashboard|grid)\b""")
_DOCUMENT = re.compile(r"<!doctype html|<html\b", re.IGNORECASE)


def clean_page(task):
    """Returns the `Cleaner` that has read the text of a task, as HTML or otherwise as Markdown.

    Raises `Unrenderable` if no visible content is left.
    """
    cleaner = Cleaner(task)
    cleaner.read(_as_html(task))
    shows = any(True for _ in cleaner.body.find_all(lambda element: element.name in ("img", "svg")))
    if not cleaner.body.text().strip() and not shows:
        raise Unrenderable("empty")
    return cleaner


def _as_html(task):
    text = task.text
    fenced = _WHOLE_FENCE.fullmatch(text) or _FENCE.search(text)
    if fenced and not _DOCUMENT.search(text[:fenced.start(1)]):
        text = fenced[1]
    document = _DOCUMENT.search(text)
    if document:
        # Removes the model's words before and after its page.
        end = text.lower().rfind("</html>")
        text = text[document.start():] if end < 0 else text[document.start():end]
    elif not _TAG.search(_CHART.sub("", text)):
        blocks, notes = read_blocks(task, text)
        return write_blocks(task, blocks, notes)
    # In the narrow columns of a dashboard, letters would be too small.
    size = (500, 260) if _GRID.search(text) else (720, 0)
    return _CHART.sub(lambda found: _chart(task, html.unescape(found[1]), size), text)


def _chart(task, text, size):
    chart = task.chart(text)
    return _write_chart(task, chart, *size) if chart else f"<pre><code>{html.escape(text)}</code></pre>"


def _write_chart(task, chart, width=720, height=0):
    svg = draw_chart(chart, width, height).to_svg()
    if not task.is_deck:
        svg += draw_chart(chart, 360, 230).to_svg().replace("<svg", '<svg class="narrow"', 1)
    return f"<figure>{svg}</figure>"


def write_blocks(task, blocks, notes):
    """Returns the blocks of a Markdown text and its notes as HTML."""
    written, lists = [], []
    quote = 0

    def close_lists(level):
        while len(lists) > level:
            written.append(f"</li></{lists.pop()[1]}>")

    for block in blocks:
        close_lists(block.level + (block.kind == "item") if block.kind in ("item", "text", "code", "table", "picture")
                    else 0)
        if block.quote != quote:
            close_lists(0)
            written.append("<blockquote>" * (block.quote - quote) + "</blockquote>" * (quote - block.quote))
            quote = block.quote
        if block.kind == "item":
            _open_item(block, lists, written)
        written.append(_block(task, block))
    close_lists(0)
    written.append("</blockquote>" * quote)
    if notes:
        items = "".join(f'<li id="note-{number}">{_inline(runs)}</li>' for number, runs in enumerate(notes, 1))
        written.append(f'<div class="notes"><strong>{words(task.language, "notes")}</strong><ol>{items}</ol></div>')
    return "\n".join(written)


def _open_item(block, lists, written):
    name = "ul" if block.number is None else "ol"
    if len(lists) == block.level + 1 and lists[-1][0] != block.list_id:
        written.append(f"</li></{lists.pop()[1]}>")
    if len(lists) == block.level + 1:
        written.append("</li>")
    while len(lists) < block.level + 1:
        look = ' class="tasks"' if block.name else f' start="{block.number}"' if block.number not in (None, 1) else ""
        written.append(f"<{name}{look}>" + ("<li>" if len(lists) < block.level else ""))
        lists.append((block.list_id, name))
    written.append(f'<li id="{block.anchor}">' if block.anchor else "<li>")


def _block(task, block):
    inline = _inline(block.runs)
    if block.kind == "heading":
        level = min(block.level, 6)
        return f"<h{level}>{inline}</h{level}>"
    if block.kind == "item":
        return f"{block.name} {inline}" if block.name else inline
    if block.kind == "text":
        return f'<p id="{block.anchor}">{inline}</p>' if block.anchor else f"<p>{inline}</p>"
    if block.kind == "code":
        return f"<pre><code>{html.escape(block.text)}</code></pre>"
    if block.kind == "picture":
        told = html.escape(block.text)
        caption = f"<figcaption>{told}</figcaption>" if told else ""
        return f'<figure><img src="{html.escape(block.name)}" alt="{told}">{caption}</figure>'
    if block.kind == "chart":
        return _write_chart(task, block.chart)
    if block.kind == "formula":
        svg = block.drawing.to_svg().replace("<svg", f'<svg width="{block.drawing.width * 1.3:.0f}"', 1)
        return f'<figure class="formula">{svg}</figure>'
    return "<hr>" if block.kind == "rule" else _table(block)


def _table(block):
    rows = []
    for number, row in enumerate(block.rows):
        name = "td" if number else "th"
        cells = "".join(f"<{name}{'' if align == 'left' else f' align={chr(34)}{align}{chr(34)}'}>{_inline(runs)}</{name}>"
                        for runs, align in zip(row, block.aligns))
        rows.append(f"<tr>{cells}</tr>")
    return f"<table><thead>{rows[0]}</thead><tbody>{''.join(rows[1:])}</tbody></table>"


def _inline(runs):
    return "".join(map(_run, runs))


def _run(run):
    if not isinstance(run, Run):
        return f'<img src="{html.escape(run.name)}" alt="{html.escape(run.text)}">'
    text = html.escape(run.text).replace("\n", "<br>")
    for tag, is_set in (("code", run.code), ("em", run.italic), ("strong", run.bold), ("s", run.strike),
                        (run.script, run.script)):
        text = f"<{tag}>{text}</{tag}>" if is_set else text
    return f'<a href="{html.escape(run.link)}">{text}</a>' if run.link else text


def render(task):
    """Returns the bytes of a page."""
    cleaner = clean_page(task)
    title = task.title or cleaner.title.strip() or heading_of(cleaner.body)
    body = cleaner.body
    told = "".join(f' {key}="{html.escape(value)}"' for key, value in body.attributes.items())
    sheets = [_BASE, _SHEET, dark_charts(), *filter(None, [theme_sheet("body")]), *cleaner.sheets]
    foot = f'\n<footer class="foot">{html.escape(house.FOOTER)}</footer>' if house.FOOTER else ""
    return page(task, title, POLICY, sheets, f"<body{told}>\n{logo_of(task)}{write_inside(body)}{foot}\n</body>")


def logo_of(task):
    """Returns the deployment's logo as an element, or an empty text."""
    picture = task.logo()
    if picture is None:
        return ""
    return f'<img class="logo" alt="" src="{address_of(picture)}">\n'


def address_of(picture):
    """Returns an address that contains a picture."""
    return f"data:image/{picture.format.lower()};base64,{base64.b64encode(picture.content).decode()}"


def heading_of(body):
    """Returns the text of the first heading."""
    found = next(body.find_all(lambda element: element.name in ("h1", "h2", "h3")), None)
    return " ".join(found.text().split())[:200] if found else ""


def page(task, title, policy, sheets, body):
    """Returns the bytes of a page of these parts: first a policy, which applies to everything after it."""
    title = html.escape(title or words(task.language, "untitled"), quote=False)
    language = "zh-CN" if task.language == "zh" else "en"
    styles = "\n".join(f"<style>{sheet}</style>" for sheet in sheets)
    direction = ' dir="rtl"' * task.is_rtl
    return (f'<!DOCTYPE html>\n<html lang="{language}"{direction}>\n<head>\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n'
            f'{styles}\n</head>\n{body}\n</html>\n').encode(errors="replace")
