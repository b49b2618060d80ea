"""Renders the samples beside this file in all forms, and prints their measurable faults: `samples.py FOLDER FONT...`.
`reports.webp` shows pages of PDF documents.

The variable `OFFICE_PYTHON` names a Python with the packages of `requirements.txt`, which validate Office files. If
`soffice` is on the `PATH`, LibreOffice opens these files too. The exit code is 1 if there are faults.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
FORMS = {"html": "html", "ppt": "slides.html", "docx": "docx", "pptx": "pptx", "pdf": "pdf"}


def samples():
    """Returns the samples by name; a sample of HTML has only the forms of pages."""
    texts = {path.stem: path.read_text() for path in sorted(HERE.glob("*.*.*")) if path.suffix in (".md", ".html")}
    rows = [f"| {n:02} | AX-{n * 37 % 900 + 100}-{n:02} | {'Pump' if n % 3 else 'Valve with a long name'} {n} | "
            f"{n * 7919 % 4000:,} | {n * 104729 % 90000 + 0.5:,.2f} | 2026-{n % 12 + 1:02}-{n % 28 + 1:02} |"
            for n in range(1, 41)]
    for language, title, head in (("en", "Stock list", "No | Article | Name | Stock | Value | Counted"),
                                  ("zh", "库存清单", "序号 | 货号 | 名称 | 库存 | 金额 | 盘点日期")):
        table = "\n".join([f"| {head} |", "|--:|:--|:--|--:|--:|:--|", *rows])
        texts[f"table.{language}"] = f"# {title}\n\n## {title} 2026\n\n{table}\n"
    slides = ["# 数字化泵站：三年规划\n\n给管理委员会 · 2026 年 11 月"]
    kinds = ["- 第一要点：按泵采集振动和温度\n- 第二要点：每日汇总，异常当日上报\n- 第三要点：两个工厂先行",
             "**67%**\n\n的非计划停机可以避免", "> 没有数据，我们只是在等泵坏掉。\n>\n> —— 二厂维修主管",
             "| 项目 | 2026 | 2027 | 2028 |\n|---|--:|--:|--:|\n| 投资 | 470 | 60 | 60 |\n| 收益 | 620 | 1,250 | 1,270 |"]
    for n in range(1, 30):
        head = f"# 第 {n // 7} 部分：实施" if n % 7 == 0 else f"## 结论 {n}：先做两个工厂，再推广到全部泵站"
        slides.append(head if n % 7 == 0 else f"{head}\n\n{kinds[n % 4]}\n\n备注：第 {n} 页的讲稿。")
    texts["deck.zh"] = "\n\n---\n\n".join(slides)
    return texts


def draw_sheet():
    """Draws the first pages of some documents side by side, for docs/tools.md."""
    import pypdfium2
    from PIL import Image

    names = ("deck.zh", "sales.en", "research.zh", "paper.en", "memo.en", "table.en")
    pages = [pypdfium2.PdfDocument(f"{name}.pdf")[0].render(scale=0.6).to_pil() for name in names]
    wide, high = pages[0].width + 12, pages[0].height + 12
    sheet = Image.new("RGB", (wide * 3 + 12, high * 2 + 12), "#DDE3E9")
    for place, page in enumerate(pages):
        sheet.paste(page, (place % 3 * wide + 12, place // 3 * high + 12))
    sheet.save("reports.webp", quality=42, method=6)


def faults_of_schema():
    """Validates all Office files here, and yields what their schemas and Office's own rules do not allow."""
    words = ["-m", "openxml_audit", "--format", "microsoft365", "--output", "json", "--max-errors", "0", "--recursive"]
    told = subprocess.run([os.environ["OFFICE_PYTHON"], *words, "."], stdout=subprocess.PIPE, check=False).stdout
    reports = json.loads(told)
    for report in reports:
        yield from (f"{report['file']}: {fault['part_uri']} {fault['path']}: {fault['description']}"
                    for fault in report["errors"])
    if len(reports) != sum(name.endswith(("docx", "pptx")) for name in os.listdir()):
        yield f"{len(reports)} files were validated"


def faults_of_libreoffice():
    """Yields the Office files that LibreOffice cannot open, and writes the others as PDF documents into `libreoffice`."""
    shutil.rmtree("libreoffice", ignore_errors=True)
    for ending in ("docx", "pptx"):
        files = sorted(name for name in os.listdir() if name.endswith(ending))
        folder = f"libreoffice/{ending}"
        subprocess.run(["soffice", "--headless", "--convert-to", "pdf", "--outdir", folder, *files],
                       stdout=subprocess.DEVNULL, check=True)
        yield from (f"{name}: LibreOffice does not open it" for name in files
                    if not os.path.exists(f"{folder}/{name[:-5]}.pdf"))
    print("LibreOffice: see libreoffice")


def main(folder, fonts):
    sys.path[:0] = [str(HERE), str(HERE.parent.parent / "python")]
    import job_kinds
    from direction import faults_of_direction
    from faults import FAULTS
    from render import render
    from theme import faults_of_theme

    job_kinds.load_libraries(job_kinds.DOCUMENTS, fonts)
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    faults = []
    for name, text in samples().items():
        forms = ("html", "ppt") if "<body" in text else FORMS
        for form in forms:
            file, began = f"{name}.{FORMS[form]}", time.monotonic()
            told = render(form, file, text, "", name[-2:], fonts)
            print(f"{file}: {time.monotonic() - began:.2f} s", flush=True)
            found = [told["problem"]] if told["problem"] else [*FAULTS[form](file, text, fonts[0]),
                                                                        *faults_of_direction(file, name == "arabic.en")]
            faults += [f"{file}: {fault}" for fault in found]
            is_bad = name == "hostile.en"
            letters = {"letters: Old Persian, Tamil"} if file == "scripts.en.pdf" else set()
            if not is_bad and (told["missing_images"] or set(told["notes"]) - {"scripts"} != letters):
                faults.append(f"{file}: {told}")
    draw_sheet()
    faults += faults_of_theme(samples(), fonts)
    faults += faults_of_schema()
    if shutil.which("soffice"):
        faults += faults_of_libreoffice()
    print("\n".join(faults) or "no faults")
    return len(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]) > 0)
