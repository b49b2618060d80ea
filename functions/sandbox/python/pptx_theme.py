"""The theme and the layouts of presentations."""

import re
from copy import deepcopy
from xml.sax.saxutils import escape

import house
from lxml import etree
from pptx.enum.text import MSO_ANCHOR
from pptx.oxml import parse_xml
from pptx.oxml.ns import qn
from pptx.util import Pt

SPACES = ('xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
          'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"')
# Points; a slide is 13.33 by 7.5 inches.
WIDTH, HEIGHT = 960, 540
LEFT, TOP, RIGHT, BOTTOM = 52, 116, 52, 58
ROOM_WIDE, ROOM_HIGH = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
# The layouts that are kept of the library's file, by their places in it: name, title and text below it.
COVER, SECTION, CONTENT, CLOSING = 0, 1, 2, 3
_LAYOUTS = ((0, "Title", (LEFT + 18, 140, 760, 140), (LEFT + 18, 302, 760, 130)),
            (2, "Section", (LEFT + 18, 170, 760, 130), (LEFT + 18, 320, 760, 90)),
            (5, "Statement", (LEFT, 28, ROOM_WIDE, 60), None),
            (1, "Closing", (LEFT + 18, 120, 760, 110), (LEFT + 18, 256, 760, 210)))
# Number, footer and date; our layouts have the first two as text.
_FOOT = (13, 15, 16)
# The mark of the sections of a presentation.
_SECTIONS = "{521415D9-36F7-43E2-AB2F-B90AF26B5E84}"
# Parts about the slides of a file, and their authors: relationships of the presentation, and of the file.
_OF_SLIDES = ("/commentAuthors", "/authors")
_OF_FILE = ("/thumbnail", "/extended-properties")


def prepare(deck, title):
    """Sets the theme of a presentation of the library, and keeps four of its layouts in our design."""
    deck.slide_width, deck.slide_height = Pt(WIDTH), Pt(HEIGHT)
    master = deck.slide_master
    _set_theme(master)
    for shape in list(master.placeholders):
        if shape.placeholder_format.type in _FOOT:
            shape._element.getparent().remove(shape._element)
        else:
            is_title = shape.placeholder_format.idx == 0
            place(shape, LEFT, 28 if is_title else TOP, ROOM_WIDE, 60 if is_title else ROOM_HIGH)
    layouts = list(master.slide_layouts)
    for number, layout in enumerate(layouts):
        if number not in [kept for kept, *_ in _LAYOUTS]:
            master.slide_layouts.remove(layout)
    kept = [layouts[number] for number, *_ in _LAYOUTS]
    for layout, (_, name, *boxes) in zip(kept, _LAYOUTS):
        layout.name = name
        _shape_layout(layout, boxes, is_dark=name != "Statement")
    _add_foot(kept[CONTENT], house.FOOTER or title)
    return kept


def prepare_master(deck):
    """Removes the slides of a deployment's file, and returns its layouts and the box for content `(left, top, width,
    height)`, in points. Raises `ValueError` for a file that cannot be used.
    """
    if abs(deck.slide_width - Pt(WIDTH)) > Pt(2) or abs(deck.slide_height - Pt(HEIGHT)) > Pt(2):
        raise ValueError("its slides are not 13.33 by 7.5 inches")
    _remove_slides(deck)
    kinds = {}
    for layout in deck.slide_layouts:
        if layout.placeholders and any(holder.placeholder_format.idx == 0 for holder in layout.placeholders):
            kinds.setdefault(layout._element.get("type"), layout)
    if not {"title", "titleOnly"} <= kinds.keys():
        raise ValueError("it has no layouts of the kinds Title Slide and Title Only")
    cover, content = kinds["title"], kinds["titleOnly"]
    title = next(holder for holder in content.placeholders if holder.placeholder_format.idx == 0)
    left, width = title.left / Pt(1), title.width / Pt(1)
    top = max(TOP - 16, (title.top + title.height) / Pt(1) + 8)
    foots = [holder.top / Pt(1) for holder in content.placeholders if holder.placeholder_format.type in _FOOT]
    bottom = min([HEIGHT - 36, *(foot - 8 for foot in foots if foot > HEIGHT / 2)])
    if width < 600 or bottom - top < 250:
        raise ValueError("its layout Title Only leaves less than 600 by 250 points below the title")
    # Last, because a file that cannot be used leaves the style as it is.
    _take_theme(deck.slide_master)
    return [cover, kinds.get("secHead", cover), content, cover], (left, top, width, bottom - top)


def _remove_slides(deck):
    """Removes the slides, and with them all that names them: sections, custom shows, and the author's view."""
    for part in deck.part._element.xpath(f"p:custShowLst | p:extLst/p:ext[@uri='{_SECTIONS}']"):
        part.getparent().remove(part)
    slides = deck.slides._sldIdLst
    for slide in list(slides):
        deck.part.drop_rel(slide.rId)
        slides.remove(slide)
    for owner, kinds in ((deck.part, _OF_SLIDES), (deck.part.package, _OF_FILE)):
        for key, rel in list(owner._rels.items()):
            if rel.reltype.endswith(kinds):
                owner._rels.pop(key)
    for rel in deck.part.rels.values():
        if rel.reltype.endswith("/viewProps"):
            # PowerPoint misses this part if it is absent.
            rel.target_part._blob = f"<p:viewPr {SPACES}/>".encode()
            for key in list(rel.target_part.rels):
                rel.target_part.rels.pop(key)
        elif rel.reltype.endswith("/presProps"):
            element = parse_xml(rel.target_part.blob)
            for name in ("p:custShow", "p:sldRg"):
                for shown in element.findall(f"{qn('p:showPr')}/{qn(name)}"):
                    shown.getparent().remove(shown)
            rel.target_part._blob = etree.tostring(element, xml_declaration=True, encoding="UTF-8", standalone=True)


def _take_theme(master):
    """Makes the colors and fonts of a deployment's file the style of this process."""
    part = next(rel.target_part for rel in master.part.rels.values() if rel.reltype.endswith("/theme"))
    theme = parse_xml(part.blob)

    def color(name):
        found = theme.find(f".//{qn(f'a:{name}')}")[0]
        value = found.get("lastClr") or found.get("val") or ""
        if not re.fullmatch("[0-9A-Fa-f]{6}", value):
            raise ValueError(f"its color {name} is not one of red, green and blue")
        return value.upper()

    def font(name, script):
        return theme.find(f".//{qn(f'a:{name}')}/{qn(f'a:{script}')}").get("typeface")

    own = {"colors": [color(f"accent{number}") for number in range(1, 7)], "dark": color("dk2"),
           "latin": font("minorFont", "latin"), "chinese": font("minorFont", "ea")}
    house.use_theme(own | {"footer": house.FOOTER})


def add_foot(slide):
    """Adds the foot of a deployment's layout to a slide: its footer and number, which the library leaves out."""
    for holder in slide.slide_layout.placeholders:
        if holder.placeholder_format.type in _FOOT[:2]:
            element = deepcopy(holder._element)
            slide.shapes._spTree.append(element)
            if house.FOOTER and holder.placeholder_format.type == _FOOT[1]:
                slide.shapes[-1].text_frame.text = house.FOOTER


def _set_theme(master):
    """Replaces the colors and fonts of the theme, which charts and later slides use."""
    part = next(rel.target_part for rel in master.part.rels.values() if rel.reltype.endswith("/theme"))
    colors = {"dk1": house.INK, "lt1": "FFFFFF", "dk2": house.DARK, "lt2": house.SOFT, "hlink": house.LINK,
              "folHlink": house.SOFT_INK, **{f"accent{number}": color for number, color in enumerate(house.SERIES, 1)}}
    theme = parse_xml(part.blob)
    for name, color in colors.items():
        element = theme.find(f".//{qn(f'a:{name}')}")
        for old in list(element):
            element.remove(old)
        element.append(parse_xml(f'<a:srgbClr {SPACES} val="{color}"/>'))
    for name in ("majorFont", "minorFont"):
        fonts = theme.find(f".//{qn(f'a:{name}')}")
        fonts.find(qn("a:latin")).set("typeface", house.LATIN)
        fonts.find(qn("a:ea")).set("typeface", house.CHINESE)
    part._blob = etree.tostring(theme, xml_declaration=True, encoding="UTF-8", standalone=True)


def _shape_layout(layout, boxes, is_dark):
    for holder in list(layout.placeholders):
        if holder.placeholder_format.type in _FOOT or holder.placeholder_format.idx > 1:
            holder._element.getparent().remove(holder._element)
    colors = ("bg1", "bg2") if is_dark else ("tx1", "tx1")
    for holder, box, color in zip(layout.placeholders, boxes, colors):
        place(holder, *box)
        frame = holder.text_frame
        frame.margin_left = frame.margin_right = 0
        frame.vertical_anchor = MSO_ANCHOR.TOP if holder.placeholder_format.idx else (
            MSO_ANCHOR.BOTTOM if is_dark else MSO_ANCHOR.MIDDLE)
        style = holder._element.txBody.find(qn("a:lstStyle"))
        for old in list(style):
            style.remove(old)
        style.append(parse_xml(
            f'<a:lvl1pPr {SPACES} marL="0" indent="0" algn="l"><a:buNone/><a:defRPr cap="none" b="0"><a:solidFill>'
            f'<a:schemeClr val="{color}"/></a:solidFill></a:defRPr></a:lvl1pPr>'))
    if is_dark:
        layout.background.fill.solid()
        layout.background.fill.fore_color.theme_color = 15  # Dark 2
        add_rect(layout.shapes, 0, 0, 18, HEIGHT, "accent2")
        add_rect(layout.shapes, LEFT + 18, boxes[0][1] + boxes[0][3] + 8, 84, 5, "accent2")
    else:
        add_rect(layout.shapes, 0, 0, WIDTH, 9, "accent1")
        add_rect(layout.shapes, LEFT, 92, 54, 4, "accent2")


def _add_foot(layout, title):
    """Adds the title of the presentation and the number of the slide."""
    tree = layout.shapes._spTree
    number = ('<a:fld id="{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}" type="slidenum"><a:rPr lang="en-US" sz="1000">'
              '<a:solidFill><a:srgbClr val="COLOR"/></a:solidFill></a:rPr><a:t>‹#›</a:t></a:fld>')
    text = ('<a:r><a:rPr lang="en-US" sz="1000"><a:solidFill><a:srgbClr val="COLOR"/></a:solidFill></a:rPr>'
            f"<a:t>{escape(title[:90])}</a:t></a:r>")
    for number_of, (left, wide, align, inside) in enumerate(((LEFT, 700, "l", text), (WIDTH - RIGHT - 60, 60, "r", number))):
        tree.append(parse_xml(
            f'<p:sp {SPACES}><p:nvSpPr><p:cNvPr id="{90 + number_of}" name="Footer {number_of + 1}"/><p:cNvSpPr txBox="1"/>'
            f'<p:nvPr userDrawn="1"/></p:nvSpPr><p:spPr><a:xfrm><a:off x="{int(Pt(left))}" y="{int(Pt(HEIGHT - 30))}"/>'
            f'<a:ext cx="{int(Pt(wide))}" cy="{int(Pt(20))}"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom>'
            f'</p:spPr><p:txBody><a:bodyPr lIns="0" rIns="0" tIns="0" bIns="0" anchor="ctr"/><a:lstStyle/>'
            f'<a:p><a:pPr algn="{align}"/>{inside.replace("COLOR", house.SOFT_INK)}</a:p></p:txBody></p:sp>'))


def add_rect(shapes, left, top, width, height, color):
    """Adds a rectangle, behind all later shapes, in a color of the theme."""
    number = shapes._next_shape_id
    element = parse_xml(
        f'<p:sp {SPACES}><p:nvSpPr><p:cNvPr id="{number}" name="Ground {number}"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr>'
        f'<p:spPr><a:xfrm><a:off x="{int(Pt(left))}" y="{int(Pt(top))}"/><a:ext cx="{int(Pt(width))}" '
        f'cy="{int(Pt(height))}"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom>'
        f'<a:solidFill><a:schemeClr val="{color}"/></a:solidFill><a:ln><a:noFill/></a:ln></p:spPr>'
        f'<p:txBody><a:bodyPr/><a:lstStyle/><a:p/></p:txBody></p:sp>')
    shapes._spTree.append(element)


def place(shape, left, top, width, height):
    """Sets the box of a shape, in points."""
    shape.left, shape.top, shape.width, shape.height = Pt(left), Pt(top), Pt(width), Pt(height)
