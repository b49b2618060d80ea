"""Labels in descriptions of files and in documents, by language.

These labels belong to the code that creates the data; instructions for models are prompts.
"""

_WORDS = {
    "en": {
        "table": "{rows} rows × {columns} columns",
        "typed_rows": " (types from the first {rows})",
        "at_least": "at least {rows}",
        "ragged": "{lines} ragged lines",
        "left_after": "{lines} lines after the table are left out",
        "total": 'The last row ("{name}") is a total and is left out',
        "padded": "Names and cells are padded with blanks: strip them",
        "merged": "Merged cells (only the first of each has the value): {cells}",
        "unsolved": "Formulas without a stored value: {cells}",
        "far": "Left out, far from all others: {cells}",
        "missing": "{count} missing",
        "more_columns": "… and {count} more columns",
        "more_sheets": "… and {count} more sheets",
        "sheet": 'Sheet "{name}"',
        "hidden_sheet": 'Sheet "{name}": hidden, not read',
        "chart_sheet": 'Sheet "{name}": a chart, no cells',
        "empty_sheet": "empty",
        "sheet_size": 'Sheet "{name}" ({rows} rows × {columns} columns)',
        "image": "{format}, {width} × {height} pixels, {bytes} bytes",
        "page": "Page {number} of {pages}",
        "form_fields": "Form fields:",
        "slide": "Slide {number}",
        "header": "Header: {text}",
        "footer": "Footer: {text}",
        "comment": "Comment: {text}",
        "notes": "Notes",
        "notes_text": "Notes: {text}",
        "untitled": "Untitled",
    },
    "zh": {
        "table": "{rows} 行 × {columns} 列",
        "typed_rows": "（类型取自前 {rows} 行）",
        "at_least": "至少 {rows}",
        "ragged": "{lines} 行的列数不一致",
        "left_after": "表格之后的 {lines} 行未计入",
        "total": "最后一行（“{name}”）是汇总，未计入",
        "padded": "列名和单元格带有多余空白：需去除",
        "merged": "合并单元格（仅各自第一格有值）：{cells}",
        "unsolved": "没有存储值的公式：{cells}",
        "far": "远离其他单元格，未计入：{cells}",
        "missing": "缺失 {count} 个",
        "more_columns": "…… 另有 {count} 列",
        "more_sheets": "…… 另有 {count} 个工作表",
        "sheet": "工作表“{name}”",
        "hidden_sheet": "工作表“{name}”：已隐藏，未读取",
        "chart_sheet": "工作表“{name}”：图表，没有单元格",
        "empty_sheet": "空",
        "sheet_size": "工作表“{name}”（{rows} 行 × {columns} 列）",
        "image": "{format}，{width} × {height} 像素，{bytes} 字节",
        "page": "第 {number} 页，共 {pages} 页",
        "form_fields": "表单字段：",
        "slide": "幻灯片 {number}",
        "header": "页眉：{text}",
        "footer": "页脚：{text}",
        "comment": "批注：{text}",
        "notes": "注释",
        "notes_text": "备注：{text}",
        "untitled": "无标题",
    },
}


def words(language, key, **values):
    """Returns the label of this key in a language (`en`, `zh`), filled in; `values` are not interpreted as formats."""
    return _WORDS.get(language, _WORDS["en"])[key].format(**values)
