"""Documents in the theme of a deployment: its colors, fonts, footer and logo, and its Word and PowerPoint files."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

CHECK = Path(__file__).parents[4] / "infra/sandbox/check_templates.py"

ACCENT, FOOTER, HEADING, AUTHOR = "7A1F5C", "ACME · internal", "B0413E", "Words of the author"
THEME = {"colors": [ACCENT, "F2B705", "2E7D6B", "3B5BA5", "B0413E", "6B6B6B"], "latin": "Georgia", "footer": FOOTER,
         "logo": "theme-logo.png"}


def write_files():
    """Writes a logo, and Office files as a deployment may have them: without lists, without styles for quotes, with a
    style of characters named as one of ours, and with comments, pictures, sections and shows of its author."""
    import docx
    import pptx
    from docx.enum.style import WD_STYLE_TYPE
    from docx.oxml import OxmlElement
    from docx.shared import RGBColor
    from PIL import Image
    from pptx.util import Pt

    Image.new("RGB", (360, 100), f"#{ACCENT}").save("theme-logo.png")
    document = docx.Document()
    document.add_comment(document.add_paragraph(AUTHOR).runs, AUTHOR, AUTHOR, "A")
    document.add_picture("theme-logo.png")
    document.settings.element.append(OxmlElement("w:footnotePr"))
    document.styles.add_style("Code", WD_STYLE_TYPE.CHARACTER)
    document.styles["Heading 1"].font.color.rgb = RGBColor.from_string(HEADING)
    document.styles["Normal"].element.get_or_add_pPr().insert(0, OxmlElement("w:bidi"))
    document.sections[0].header.paragraphs[0].text = "ACME Ltd."
    for name in ("Quote", "Caption", "List Bullet 2", "Title"):
        document.styles[name].element.getparent().remove(document.styles[name].element)
    for key, rel in list(document.part.rels.items()):
        if rel.reltype.endswith(("/numbering", "/stylesWithEffects")):
            del document.part.rels[key]
    document.save("master.docx")
    document.styles.element.remove(document.styles["Normal"].element)
    document.save("abnormal.docx")
    # Noise has no small form.
    Image.frombytes("RGB", (2_700, 2_700), os.urandom(2_700 * 2_700 * 3)).save("noise.png", compress_level=1)
    large = docx.Document()
    large.sections[0].header.paragraphs[0].add_run().add_picture("noise.png")
    large.save("large.docx")
    os.remove("noise.png")
    deck = pptx.Presentation()
    wide = Pt(960) / deck.slide_width
    deck.slide_width, deck.slide_height = Pt(960), Pt(540)
    for shape in [shape for one in (deck.slide_master, *deck.slide_layouts) for shape in one.shapes]:
        if shape._element.spPr.xfrm is not None:
            shape.left, shape.width = int(shape.left * wide), int(shape.width * wide)
    for _ in range(3):
        deck.slides.add_slide(deck.slide_layouts[0]).shapes.title.text = AUTHOR
    _add_order(deck)
    deck.save("master.pptx")
    title = next(layout for layout in deck.slide_layouts if layout._element.get("type") == "titleOnly").placeholders[0]
    title.left, title.top, title.width, title.height = Pt(50), Pt(20), Pt(500), Pt(60)
    deck.save("short.pptx")
    deck.slide_width = Pt(720)
    deck.save("narrow.pptx")


def _add_order(deck):
    """Adds a section and a custom show to a presentation, and its slides to the author's view, as PowerPoint writes them."""
    from pptx.opc.constants import RELATIONSHIP_TYPE
    from pptx.oxml import parse_xml
    from pptx.oxml.ns import nsdecls

    slides = deck.slides._sldIdLst
    shown = "".join(f'<p:sld r:id="{slide.rId}"/>' for slide in slides)
    show = parse_xml(f'<p:custShowLst {nsdecls("p", "r")}><p:custShow name="Show" id="0"><p:sldLst>{shown}</p:sldLst>'
                     "</p:custShow></p:custShowLst>")
    ordered = "".join(f'<p14:sldId id="{slide.id}"/>' for slide in slides)
    sections = parse_xml(
        f'<p:ext {nsdecls("p")} uri="{{521415D9-36F7-43E2-AB2F-B90AF26B5E84}}"><p14:sectionLst xmlns:p14='
        f'"http://schemas.microsoft.com/office/powerpoint/2010/main"><p14:section name="{AUTHOR}" '
        f'id="{{6A0D1C4E-5B0F-4F0B-9C53-0C1B2F0E7A11}}"><p14:sldIdLst>{ordered}</p14:sldIdLst></p14:section>'
        "</p14:sectionLst></p:ext>")
    element = deck.part._element
    element.find("{*}notesSz").addnext(show)
    kept = element.find("{*}extLst")
    if kept is None:
        kept = parse_xml(f'<p:extLst {nsdecls("p")}/>')
        element.append(kept)
    kept.append(sections)
    view = next(rel.target_part for rel in deck.part.rels.values() if rel.reltype.endswith("/viewProps"))
    view.relate_to(deck.slides[0].part, RELATIONSHIP_TYPE.SLIDE)


def text_of(file):
    """Returns all text of a document, and of the parts of an Office document; of a master, the layouts are not ours."""
    if not file.endswith("x"):
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    with zipfile.ZipFile(file) as archive:
        own = ("ppt/slides/", "ppt/theme/", "ppt/presentation", "word/") if file.startswith("master") else ""
        names = [name for name in archive.namelist() if name.endswith((".xml", ".rels")) and name.startswith(own)]
        return "\n".join(archive.read(name).decode() for name in names)


def faults_of_theme(texts, fonts):
    """Renders texts in themes, and yields what a document lacks of its theme, or has of another."""
    import house
    import pypdfium2
    from render import render

    write_files()
    text = texts["sales.en"]
    own, word, slides = THEME, {**THEME, "docx": "master.docx"}, {**THEME, "pptx": "master.pptx"}
    for form, file, theme, wanted, others in (
            ("html", "themed.html", own, (ACCENT, FOOTER, "Georgia", 'class="logo"'), ()),
            ("ppt", "themed.slides.html", own, (ACCENT, FOOTER, "Georgia", "djinn-logo", "djinn-notes"), ()),
            ("docx", "themed.docx", own, (ACCENT, FOOTER, "Georgia", "media/image"), ("1B5E8C",)),
            ("pptx", "themed.pptx", own, (ACCENT, FOOTER, "Georgia", 'name="Logo"'), ("1B5E8C",)),
            ("html", "signed.themed.html", {"footer": FOOTER}, (FOOTER, '[fill="#1B5E8C"]'), ("Calibri",)),
            ("docx", "master.themed.docx", word, (HEADING, "ACME Ltd.", '"Quote"', "w:abstractNum "),
             (AUTHOR, "footnotePr", 'w:type="character" w:customStyle="1" w:styleId="Code"')),
            ("pptx", "master.themed.pptx", slides, ("4F81BD", FOOTER, 'type="sldNum"'),
             (AUTHOR, 'type="dt"', "custShow", "section")),
            ("pptx", "short.themed.pptx", {**THEME, "pptx": "short.pptx"}, (ACCENT, 'name="Logo"'), ()),
            ("docx", "abnormal.themed.docx", {**THEME, "docx": "abnormal.docx"}, (ACCENT, "media/image"), (AUTHOR,)),
            ("pptx", "narrow.themed.pptx", {**THEME, "pptx": "narrow.pptx"}, (ACCENT, 'name="Logo"'), ()),
            ("docx", "broken.themed.docx", {**THEME, "docx": "theme-logo.png"}, (ACCENT,), ())):
        house.use_theme(theme)
        told = render(form, file, text, "", "en", fonts)
        is_used = file.split(".")[0] not in ("narrow", "broken", "short", "abnormal")
        if told["problem"] or is_used == any(note.startswith(f"theme: {form}: ") for note in told["notes"]):
            yield f"{file}: {told}"
            continue
        written = text_of(file)
        yield from (f"{file} has no {part}" for part in wanted if part not in written)
        yield from (f"{file} has {part}" for part in others if part in written)
        if written.count("data:image/png") > 1:
            yield f"{file} has its logo several times"
    house.use_theme(word)
    told = render("docx", "arabic.themed.docx", texts["arabic.en"], "", "en", fonts)
    if told["problem"] or "<w:bidi/>" in text_of("arabic.themed.docx"):
        yield f"arabic.themed.docx: {told}"
    house.use_theme({**THEME, "footer": f"{FOOTER} தமிழ்"})
    told = render("pdf", "themed.pdf", text, "தமிழ் sales", "en", fonts)
    pages = pypdfium2.PdfDocument("themed.pdf")
    colors = {color for _, color in pages[0].render(scale=0.5).to_pil().convert("RGB").getcolors(1 << 20)}
    written = "\n".join(page.get_textpage().get_text_range() for page in pages)
    is_signed = f"{FOOTER} [Tamil]" in written and "[Tamil] sales" in written
    if told["notes"] != ["letters: Tamil"] or not is_signed or tuple(bytes.fromhex(ACCENT)) not in colors:
        yield f"themed.pdf: {told}"
    house.use_theme(None)
    yield from faults_of_check()
    for name in ("narrow.pptx", "master.pptx", "short.pptx", "master.docx", "abnormal.docx", "large.docx"):
        os.remove(name)


def faults_of_check():
    """Yields a fault if the check of a deployment's files finds other faults than there are."""
    os.makedirs("templates", exist_ok=True)
    for docx, pptx, faults in (
            ("master.docx", "master.pptx", []), ("abnormal.docx", "narrow.pptx", ["master.docx", "master.pptx"]),
            ("theme-logo.png", "master.pptx", ["master.docx"]), ("large.docx", "master.pptx", ["master.docx"])):
        shutil.copy(docx, "templates/master.docx")
        shutil.copy(pptx, "templates/master.pptx")
        told = subprocess.run([sys.executable, CHECK, "templates"], stdout=subprocess.PIPE, text=True, check=True).stdout
        if [line.split(":")[0] for line in told.splitlines()] != [f"templates/{name}" for name in faults]:
            yield f"check of {docx} and {pptx}: {told}"
    shutil.rmtree("templates")
