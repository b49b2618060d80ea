"""The order of elements in Word and PowerPoint files, as their schemas (ECMA-376, transitional) have it.

An element in another order, or one that its parent does not know, makes Office offer a repair.
"""

_FILLS = "noFill solidFill gradFill blipFill pattFill grpFill"
# The children of an element, in their order.
ORDERS = {
    "w:pPr": "pStyle keepNext keepLines pageBreakBefore framePr widowControl numPr suppressLineNumbers pBdr shd tabs "
             "suppressAutoHyphens kinsoku wordWrap overflowPunct topLinePunct autoSpaceDE autoSpaceDN bidi adjustRightInd "
             "snapToGrid spacing ind contextualSpacing mirrorIndents suppressOverlap jc textDirection textAlignment "
             "textboxTightWrap outlineLvl divId cnfStyle rPr sectPr pPrChange",
    "w:tbl": "tblPr tblGrid tr",
    "w:tblPr": "tblStyle tblpPr tblOverlap bidiVisual tblStyleRowBandSize tblStyleColBandSize tblW jc tblCellSpacing "
               "tblInd tblBorders shd tblLayout tblCellMar tblLook tblCaption tblDescription",
    "w:tcPr": "cnfStyle tcW gridSpan hMerge vMerge tcBorders shd noWrap tcMar textDirection tcFitText vAlign hideMark",
    "w:tc": "tcPr p",
    "w:lvl": "start numFmt lvlRestart pStyle isLgl suff lvlText lvlPicBulletId legacy lvlJc pPr rPr",
    "w:style": "name aliases basedOn next link autoRedefine hidden uiPriority semiHidden unhideWhenUsed qFormat locked "
               "personal personalCompose personalReply rsid pPr rPr tblPr trPr tcPr tblStylePr",
    "m:naryPr": "chr limLoc grow subHide supHide ctrlPr",
    "m:nary": "naryPr sub sup e",
    "m:f": "fPr num den",
    "m:rad": "radPr deg e",
    "m:d": "dPr e",
    "m:acc": "accPr e",
    "m:sSub": "sSubPr e sub",
    "m:sSup": "sSupPr e sup",
    "m:sSubSup": "sSubSupPr e sub sup",
    "a:rPr": f"ln {_FILLS} effectLst effectDag highlight uLnTx uLn uFillTx uFill latin ea cs sym hlinkClick "
             "hlinkMouseOver rtl extLst",
    "a:pPr": "lnSpc spcBef spcAft buClrTx buClr buSzTx buSzPct buSzPts buFontTx buFont buNone buAutoNum buChar buBlip "
             "tabLst defRPr extLst",
    "a:tcPr": f"lnL lnR lnT lnB lnTlToBr lnBlToTr cell3D {_FILLS} headers extLst",
    "a:bodyPr": "prstTxWarp noAutofit normAutofit spAutoFit scene3d sp3d flatTx extLst",
    "a:p": "pPr r br fld endParaRPr",
    "p:sld": "cSld clrMapOvr transition timing extLst",
    "p:spPr": f"xfrm custGeom prstGeom {_FILLS} ln effectLst effectDag scene3d sp3d extLst",
}
# Children that may alternate.
_ALTERNATE = {"a:p": ("r", "br", "fld")}
_PREFIXES = {"http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
             "http://schemas.openxmlformats.org/officeDocument/2006/math": "m",
             "http://schemas.openxmlformats.org/drawingml/2006/main": "a",
             "http://schemas.openxmlformats.org/presentationml/2006/main": "p"}


def faults_of_order(path):
    """Yields the elements of an Office file whose children are unknown or in another order."""
    import zipfile

    from lxml import etree

    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".xml") and name.startswith(("word/", "ppt/slides/", "ppt/slideLayouts/")):
                for element in etree.fromstring(archive.read(name)).iter(etree.Element):
                    fault = _fault(element)
                    if fault:
                        yield f"{name}: {fault}"


def _split(element):
    space, _, name = element.tag[1:].partition("}")
    return _PREFIXES.get(space), name


def _fault(element):
    prefix, name = _split(element)
    key = f"{prefix}:{name}"
    if key not in ORDERS:
        return ""
    order, alternate = ORDERS[key].split(), _ALTERNATE.get(key, ())
    last = 0
    for child in element.iterchildren("{*}*"):
        own, called = _split(child)
        if own != ("a" if key == "p:spPr" else prefix) or called not in order:
            return f"{key} has a child {called}"
        place = order.index(alternate[0] if called in alternate else called)
        if place < last:
            return f"{key} has {called} after {order[last]}"
        last = place
    return "w:tc ends with no paragraph" if key == "w:tc" and (not len(element) or _split(element[-1])[1] != "p") else ""
