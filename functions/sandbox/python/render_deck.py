"""Slides as a page without external content, from model-written `section` elements."""

import base64
import hashlib
import re

from clean_html import Element, write
from render_html import POLICY, clean_page, heading_of, page

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
.djinn-number{position:absolute;right:26px;bottom:16px;font:14px/1 system-ui,sans-serif;color:#7b8794;z-index:99}
.djinn-live.djinn-deck,.djinn-live.djinn-deck>body{overflow:hidden!important}
.djinn-live .djinn-slide{position:fixed;left:0;top:0;margin:0;display:none}
.djinn-live .djinn-slide.djinn-now{display:block}
@media print{@page{size:1280px 720px;margin:0}html.djinn-deck,html.djinn-deck>body{overflow:visible!important}
.djinn-slide,.djinn-live .djinn-slide{display:block!important;position:relative!important;transform:none!important;left:0!important;top:0!important;margin:0!important;break-after:page}
.djinn-slide:last-of-type{break-after:auto}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""
# The style of slides without a style of their own.
_PLAIN = """
section{padding:64px 76px;font:25px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,Arial,"PingFang SC","Microsoft YaHei","Noto Sans SC",sans-serif;color:#1f2933;background:#fff;display:flex;flex-direction:column;justify-content:flex-start}
section h1{font-size:56px;line-height:1.15;color:#1f4e79;margin:auto 0 .3em}section h1~*:last-child{margin-bottom:auto}
section h2{font-size:40px;line-height:1.2;color:#1f4e79;margin:0 0 .6em;padding-bottom:.25em;border-bottom:3px solid #dce6f1}
section h3{font-size:29px;color:#1f4e79;margin:.3em 0}section p{margin:.35em 0}section ul,section ol{margin:.2em 0;padding-left:1.3em}
section li{margin:.22em 0}section table{border-collapse:collapse;width:100%;font-size:21px}
section th,section td{border:1px solid #d3dae2;padding:.35em .6em;text-align:left}section th{background:#e8eff7}
section img,section>svg{max-width:100%;max-height:500px;object-fit:contain;margin:0 auto;display:block}
section pre{background:#f3f5f7;padding:.7em 1em;font-size:19px;overflow:hidden;border-radius:6px}
"""
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


def render_deck(task):
    """Returns the bytes of a page of slides."""
    cleaner = clean_page(task)
    slides = _slides(task, cleaner.body)
    if len(slides) > MAX_SLIDES:
        task.note("cut")
        del slides[MAX_SLIDES:]
    title = task.title or cleaner.title.strip() or heading_of(cleaner.body)
    parts = []
    for number, slide in enumerate(slides, 1):
        parts.append(f'<div class="djinn-slide">{write(slide)}'
                     f'<div class="djinn-number">{number} / {len(slides)}</div></div>')
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"{POLICY}; script-src 'sha256-{digest}'"
    body = "<body>\n{}\n<script>{}</script>\n</body>".format("\n".join(parts), _SCRIPT)
    made = page(task, title, policy, [_FIRST, *(cleaner.sheets or [_PLAIN]), _SHEET], body)
    return made.replace(b"<html ", b'<html class="djinn-deck" ', 1)


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
    return [slide for slide in slides if slide.inside and write(slide).strip() != "<section></section>"]
