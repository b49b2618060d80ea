"""Slides as a page without external content, from model-written `section` elements."""

import base64
import hashlib
import html
import re

import house
from clean_html import Element, write
from markdown import SPEAKER_NOTES
from render_html import FONTS, LIGHT, PARTS, POLICY, address_of, clean_page, heading_of, page, theme_sheet

# Maximum slides of a deck.
MAX_SLIDES = 200

# Class names of slides in style sheets that hide all other slides.
_SHOWN = "active current visible show present"
_FIRST = "body{background:#fff}"
# Works without a script, with all slides below each other.
_SHEET = """
html.djinn-deck,html.djinn-deck>body{margin:0!important;padding:0!important;width:auto!important;max-width:none!important;min-height:100vh;height:auto!important;display:block!important;transform:none!important}
html.djinn-deck{overflow:auto!important}html.djinn-deck>body{overflow:visible!important}
.djinn-slide{position:relative;width:1280px;height:720px;margin:24px auto;overflow:hidden;background:inherit;transform-origin:0 0;break-inside:avoid}
.djinn-slide>section{box-sizing:border-box!important;position:relative!important;inset:auto!important;width:1280px!important;height:720px!important;min-height:0!important;max-width:none!important;max-height:none!important;margin:0!important;overflow:hidden!important;opacity:1!important;visibility:visible!important;transform:none!important;animation:none!important}
.djinn-number{position:absolute;inset-inline-end:26px;bottom:16px;font:14px/1 system-ui,sans-serif;color:#7b8794;z-index:99}
.djinn-logo{position:absolute;inset-inline-end:40px;top:26px;height:44px;z-index:99}
.djinn-foot{position:absolute;inset-inline-start:76px;bottom:16px;font:14px/1 system-ui,sans-serif;color:#7b8794;z-index:99}
.djinn-notes{display:none!important}
.djinn-live.djinn-deck,.djinn-live.djinn-deck>body{overflow:hidden!important}
.djinn-live .djinn-slide{position:fixed;left:0;top:0;margin:0;display:none}
.djinn-live .djinn-slide.djinn-now{display:block}
@media print{@page{size:1280px 720px;margin:0}html.djinn-deck,html.djinn-deck>body{overflow:visible!important}
.djinn-slide,.djinn-live .djinn-slide{display:block!important;position:relative!important;transform:none!important;left:0!important;top:0!important;margin:0!important;break-after:page}
.djinn-slide:last-of-type{break-after:auto}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""
# The style of slides; every rule of the model wins over this layer.
_PLAIN = f"""@layer djinn{{:root{{{LIGHT}}}
section{{padding:60px 76px 56px;font:26px/1.5 {FONTS};color:var(--ink);background:#fff;display:flex;flex-direction:column;justify-content:center}}
section h1{{font-size:60px;line-height:1.15;color:#fff;margin:0 0 .35em;text-wrap:balance}}section h1~*{{color:#d7e3ee}}
section:has(>h1){{background:var(--dark);border-inline-start:22px solid var(--second)}}
section h2{{font-size:40px;line-height:1.2;color:var(--ink);margin:0 0 .7em;text-wrap:balance}}section:has(>h2){{justify-content:flex-start;border-top:10px solid var(--accent)}}
section h2~*:not(table,figure){{max-width:1000px}}section h3{{font-size:29px;color:var(--accent);margin:.5em 0 .2em}}section p{{margin:.35em 0}}section ul,section ol{{margin:.3em 0;padding-inline-start:1.3em}}
section li{{margin:.3em 0}}section li::marker{{color:var(--second)}}{PARTS}section table{{font-size:23px;margin:.6em 0}}section figure{{margin:.4em 0;width:100%;min-height:300px;flex:1 1 0;display:flex;flex-direction:column}}
section figure svg,section figure img{{width:100%;height:100%;min-height:0;object-fit:contain;margin:0 auto;display:block}}section:has(>h1) a{{color:#fff}}
section:has(>figure):has(>:is(p,ul,ol)):not(:has(>:is(table,.formula,pre))){{display:grid;grid-template-columns:36% 1fr;grid-auto-rows:min-content;column-gap:44px;align-content:start}}
section:has(>figure):has(>:is(p,ul,ol)):not(:has(>:is(table,.formula,pre)))>:is(h2,.notes){{grid-column:1/-1}}section:has(>figure):has(>:is(p,ul,ol)):not(:has(>:is(table,.formula,pre)))>figure{{grid-column:2;grid-row:2/span 8;height:500px}}
section>svg,section>img{{max-height:500px;object-fit:contain}}
section .formula{{flex:none;min-height:0;margin:1em 0}}section .formula svg{{height:auto;width:auto;min-width:45%;max-height:200px}}
section h2+:is(ul,ol):last-child{{font-size:32px;margin:auto 0;padding-bottom:1em}}section h2+:is(p,blockquote):last-child,section h2+p:has(+p:last-child)>strong:only-child{{font-size:38px}}
section .djinn-figure{{font-size:150px;line-height:1.1;color:var(--accent);margin:auto 0 0}}section .djinn-figure>*{{font-size:inherit!important}}section .djinn-figure+p{{font-size:34px;margin:.3em 0 auto;padding-bottom:1em}}
section blockquote{{font-size:34px;margin:auto 0}}section pre{{font-size:20px;overflow:hidden}}section .notes{{font-size:19px}}}}"""
_SCRIPT = """(function(){
var slides=[].slice.call(document.querySelectorAll(".djinn-slide")),at=0,root=document.documentElement;
function fit(){var wide=root.clientWidth,high=window.innerHeight,scale=Math.min(wide/1280,high/720);
slides.forEach(function(slide,number){slide.classList.toggle("djinn-now",number===at);
slide.style.transform="translate("+(wide-1280*scale)/2+"px,"+(high-720*scale)/2+"px) scale("+scale+")";});
shrink(slides[at]);}
function shrink(slide){var inner=slide.firstElementChild;if(slide.djinnFits||!inner)return;slide.djinnFits=true;
if(getComputedStyle(inner).display==="none")inner.style.setProperty("display","block","important");
var needs=Math.max(inner.scrollHeight/720,inner.scrollWidth/1280);
if(needs>1.01){inner.style.setProperty("width",1280*needs+"px","important");inner.style.setProperty("height",720*needs+"px","important");
inner.style.setProperty("transform","scale("+1/needs+")","important");inner.style.transformOrigin="0 0";}}
function go(to){at=Math.max(0,Math.min(slides.length-1,to));fit();}
addEventListener("keydown",function(event){if(event.ctrlKey||event.metaKey||event.altKey)return;var key=event.key;
if(key==="ArrowRight"||key==="ArrowDown"||key==="PageDown"||(key===" "&&!event.shiftKey))go(at+1);
else if(key==="ArrowLeft"||key==="ArrowUp"||key==="PageUp"||key===" ")go(at-1);
else if(key==="Home")go(0);else if(key==="End")go(slides.length-1);else return;event.preventDefault();});
addEventListener("click",function(event){if(event.target.closest("a,summary")||String(getSelection()))return;
go(event.clientX<root.clientWidth/3?at-1:at+1);});
addEventListener("resize",fit);
addEventListener("beforeprint",function(){root.classList.remove("djinn-live");slides.forEach(shrink);});
addEventListener("afterprint",function(){root.classList.add("djinn-live");fit();});
root.classList.add("djinn-live");fit();
})();"""


def render(task):
    """Returns the bytes of a page of slides."""
    task.is_deck = True
    cleaner = clean_page(task)
    slides = _slides(task, cleaner.body)
    if len(slides) > MAX_SLIDES:
        task.note("cut")
        del slides[MAX_SLIDES:]
    title = task.title or cleaner.title.strip() or heading_of(cleaner.body)
    picture = task.logo()
    logo = '<div class="djinn-logo"></div>' if picture else ""
    foot = f'<div class="djinn-foot">{html.escape(house.FOOTER)}</div>' if house.FOOTER else ""
    parts = []
    for number, slide in enumerate(slides, 1):
        notes = _take_notes(slide)
        _mark_figure(slide)
        parts.append(f'<div class="djinn-slide">{write(slide)}{notes}{logo}{foot}'
                     f'<div class="djinn-number">{number} / {len(slides)}</div></div>')
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"{POLICY}; script-src 'sha256-{digest}'"
    body = "<body>\n{}\n<script>{}</script>\n</body>".format("\n".join(parts), _SCRIPT)
    sheets = [_FIRST, _PLAIN, theme_sheet("section"), *cleaner.sheets, _SHEET, _logo_sheet(picture) if picture else ""]
    made = page(task, title, policy, [sheet for sheet in sheets if sheet], body)
    return made.replace(b"<html ", b'<html class="djinn-deck" ', 1)


def _logo_sheet(picture):
    """Returns the style of the logos of all slides, which contains the picture once; titles end before it."""
    wide = min(264, 44 * picture.width / picture.height)
    return (f'.djinn-logo{{width:{wide:.1f}px;background:url("{address_of(picture)}") center/contain no-repeat}}'
            ".djinn-slide:has(>section>h1) .djinn-logo{background-color:#fff;outline:9px solid #fff;border-radius:2px}"
            f"@layer djinn{{section h2:first-child{{padding-inline-end:{max(0, wide - 12):.1f}px}}}}")


def _take_notes(slide):
    """Removes the notes of a speaker from a slide, and returns them as an element that is not shown."""
    notes = [part for part in slide.inside if isinstance(part, Element) and part.name in ("p", "blockquote") and
             SPEAKER_NOTES.match(part.text())]
    slide.inside = [part for part in slide.inside if part not in notes]
    return f'<aside class="djinn-notes">{"".join(map(write, notes))}</aside>' if notes else ""


def _mark_figure(slide):
    """Marks a paragraph between a heading and a sentence that is nothing but a short figure in bold."""
    shown = [part for part in slide.inside if isinstance(part, Element)]
    if [part.name for part in shown] != ["h2", "p", "p"] or "class" in shown[1].attributes:
        return
    inside = [part for part in shown[1].inside if not isinstance(part, str) or part.strip()]
    if len(inside) == 1 and isinstance(inside[0], Element) and inside[0].name in ("strong", "b") and \
            len(inside[0].text()) <= 12:
        shown[1].attributes["class"] = "djinn-figure"


def _slides(task, body):
    """Returns the outermost sections; without sections, elements marked as slides, or one part per heading."""
    slides = list(body.find_all(lambda element: element.name == "section"))
    if not slides:
        slides = list(body.find_all(_is_slide))
    if not slides:
        return _parts(body)
    outside = len(body.text()) - sum(len(slide.text()) for slide in slides)
    if outside > 200 + len(body.text()) // 5:
        task.note("cut")
    for slide in slides:
        slide.name = "section"
        # Shows content that the deck's own script would have shown.
        for key in ("hidden", "aria-hidden"):
            slide.attributes.pop(key, None)
        slide.attributes["class"] = f"{slide.attributes.get('class', '')} {_SHOWN}".strip()
        style = slide.attributes.get("style", "")
        slide.attributes["style"] = re.sub(r"display\s*:\s*none\s*;?", "", style)
    return slides


def _is_slide(element):
    return bool(re.search(r"(^|\s)slide(\s|$)", element.attributes.get("class", "")))


def _parts(body):
    """Returns one slide for each heading of the first two levels, or one slide in total."""
    inside = body.inside
    while len(elements := [part for part in inside if isinstance(part, Element)]) == 1 and \
            elements[0].name in ("div", "main", "article"):
        inside = elements[0].inside
    slides = []
    for part in inside:
        begins = isinstance(part, Element) and part.name in ("h1", "h2")
        if begins or not slides:
            slides.append(Element("section", {}))
        if isinstance(part, Element) and part.name == "hr":
            slides.append(Element("section", {}))
        else:
            slides[-1].inside.append(part)
    return [slide for slide in slides if slide.text().strip() or any(slide.find_all(_shows))]


def _shows(element):
    return element.name in ("img", "svg")
