# Writes a document and slides whose text is where simple readers do not look.
import docx
import pptx
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from lxml import etree
from pptx.opc.package import Part as SlidePart
from pptx.opc.packuri import PackURI as SlideURI

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
WPS = 'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
BOX = '<w:txbxContent><w:p><w:r><w:t>text in a box</w:t></w:r></w:p></w:txbxContent>'
RELATION = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/'

document = docx.Document()
paragraph = document.add_paragraph('The body')
document.add_comment(paragraph.runs, text='a comment', author='A')
paragraph._p.append(etree.fromstring(
    f'<w:r {W} {MC} {WPS}><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wps:txbx>{BOX}</wps:txbx>'
    f'</w:drawing></mc:Choice><mc:Fallback><w:pict>{BOX}</w:pict></mc:Fallback></mc:AlternateContent></w:r>'))
paragraph._p.append(etree.fromstring(f'<w:r {W}><w:footnoteReference w:id="2"/></w:r>'))
notes = (f'<w:footnotes {W}><w:footnote w:type="separator" w:id="0"><w:p/></w:footnote>'
         '<w:footnote w:id="2"><w:p><w:r><w:t>a footnote</w:t></w:r></w:p></w:footnote></w:footnotes>')
part = Part(PackURI('/word/footnotes.xml'), 'application/xml', notes.encode(), document.part.package)
document.part.relate_to(part, RELATION + 'footnotes')
table = document.add_table(1, 1)
table._tbl.append(etree.fromstring(
    f'<w:sdt {W}><w:sdtContent><w:tr><w:tc><w:p><w:ins w:id="1"><w:r><w:t>a row in a control</w:t></w:r></w:ins></w:p>'
    '</w:tc></w:tr></w:sdtContent></w:sdt>'))
document.sections[0].footer.paragraphs[0].text = 'a footer'
document.save('a.docx')

deck = pptx.Presentation()
slide = deck.slides.add_slide(deck.slide_layouts[6])
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
DGM = 'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
points = ''.join(f'<dgm:pt><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>' for text in ('plan', 'build'))
model = f'<dgm:dataModel {DGM} {A}><dgm:ptLst>{points}</dgm:ptLst></dgm:dataModel>'
part = SlidePart(SlideURI('/ppt/diagrams/data1.xml'), 'application/xml', deck.part.package, model.encode())
relation = slide.part.relate_to(part, RELATION + 'diagramData')
frame = (f'<mc:AlternateContent {MC} {P} {A} {DGM} {R}><mc:Choice Requires="x"><p:graphicFrame><a:graphic><a:graphicData>'
         f'<dgm:relIds r:dm="{relation}"/></a:graphicData></a:graphic></p:graphicFrame></mc:Choice></mc:AlternateContent>')
slide.shapes._spTree.append(etree.fromstring(frame))
deck.save('a.pptx')
