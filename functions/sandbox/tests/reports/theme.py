"""Documents in the theme of a deployment: its colors, fonts, footer and logo, and its Word and PowerPoint files."""

import os
import zipfile

ACCENT, FOOTER, HEADING, AUTHOR = "7A1F5C", "ACME · internal", "B0413E", "Words of the author"
THEME = {"colors": [ACCENT, "F2B705", "2E7D6B", "3B5BA5", "B0413E", "6B6B6B"], "latin": "Georgia", "footer": FOOTER,
         "logo": "theme-logo.png"}


def write_files():
    """Writes a logo, and Office files as a deployment may have them: without lists, and without styles for quotes."""
    import docx
    import pptx
    from docx.shared import RGBColor
    from PIL import Image
    from pptx.util import Pt

    Image.new("RGB", (360, 100), f"#{ACCENT}").save("theme-logo.png")
    document = docx.Document()
    document.add_paragraph(AUTHOR)
    document.styles["Heading 1"].font.color.rgb = RGBColor.from_string(HEADING)
    document.sections[0].header.paragraphs[0].text = "ACME Ltd."
    for name in ("Quote", "Caption", "List Bullet 2", "Title"):
        document.styles[name].element.getparent().remove(document.styles[name].element)
    for key, rel in list(document.part.rels.items()):
        if rel.reltype.endswith(("/numbering", "/stylesWithEffects")):
            del document.part.rels[key]
    document.save("master.docx")
    deck = pptx.Presentation()
    wide = Pt(960) / deck.slide_width
    deck.slide_width, deck.slide_height = Pt(960), Pt(540)
    for shape in [shape for one in (deck.slide_master, *deck.slide_layouts) for shape in one.shapes]:
        if shape._element.spPr.xfrm is not None:
            shape.left, shape.width = int(shape.left * wide), int(shape.width * wide)
    deck.slides.add_slide(deck.slide_layouts[0]).shapes.title.text = AUTHOR
    deck.save("master.pptx")
    deck.slide_width = Pt(720)
    deck.save("narrow.pptx")


def text_of(file):
    """Returns all text of a document, and of the parts of an Office document; of a master, the layouts are not ours."""
    if not file.endswith("x"):
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    with zipfile.ZipFile(file) as archive:
        own = ("ppt/slides/", "ppt/theme/", "word/") if file.startswith("master") else ""
        names = [name for name in archive.namelist() if name.endswith((".xml", ".rels")) and name.startswith(own)]
        return "\n".join(archive.read(name).decode() for name in names)


def faults_of_theme(text, fonts):
    """Renders a text in themes, and yields what a document lacks of its theme, or has of another."""
    import house
    import pypdfium2
    from render import render

    write_files()
    own, word, slides = THEME, {**THEME, "docx": "master.docx"}, {**THEME, "pptx": "master.pptx"}
    for form, file, theme, wanted, others in (
            ("html", "themed.html", own, (ACCENT, FOOTER, "Georgia", 'class="logo"'), ()),
            ("ppt", "themed.slides.html", own, (ACCENT, FOOTER, "Georgia", "djinn-logo"), ()),
            ("docx", "themed.docx", own, (ACCENT, FOOTER, "Georgia", "media/image"), ("1B5E8C",)),
            ("pptx", "themed.pptx", own, (ACCENT, FOOTER, "Georgia", 'name="Logo"'), ("1B5E8C",)),
            ("docx", "master.themed.docx", word, (HEADING, "ACME Ltd.", '"Quote"', "w:abstractNum "), (AUTHOR,)),
            ("pptx", "master.themed.pptx", slides, ("4F81BD", FOOTER, 'type="sldNum"'), (AUTHOR, 'type="dt"')),
            ("pptx", "narrow.themed.pptx", {**THEME, "pptx": "narrow.pptx"}, (ACCENT, 'name="Logo"'), ()),
            ("docx", "broken.themed.docx", {**THEME, "docx": "theme-logo.png"}, (ACCENT,), ())):
        house.use_theme(theme)
        told = render(form, file, text, "", "en", fonts)
        is_used = file.split(".")[0] not in ("narrow", "broken")
        if told["problem"] or is_used == any(note.startswith(f"theme: {form}: ") for note in told["notes"]):
            yield f"{file}: {told}"
            continue
        written = text_of(file)
        yield from (f"{file} has no {part}" for part in wanted if part not in written)
        yield from (f"{file} has {part}" for part in others if part in written)
    house.use_theme(THEME)
    told = render("pdf", "themed.pdf", text, "", "en", fonts)
    page = pypdfium2.PdfDocument("themed.pdf")[0]
    colors = {color for _, color in page.render(scale=0.5).to_pil().convert("RGB").getcolors(1 << 20)}
    is_signed = FOOTER in page.get_textpage().get_text_range()
    if told["notes"] or not is_signed or tuple(bytes.fromhex(ACCENT)) not in colors:
        yield f"themed.pdf: {told}"
    house.use_theme(None)
    for name in ("narrow.pptx", "master.pptx", "master.docx"):
        os.remove(name)
