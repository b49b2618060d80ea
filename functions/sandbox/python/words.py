"""The few words that stand in descriptions of files and in documents, by language.

They label data, so they lie beside what makes the data; whatever tells a model what to do is a prompt.
"""

_WORDS = {
    "en": {
        "table": "{rows} rows × {columns} columns",
        "typed_rows": " (types from the first {rows})",
        "ragged": "{lines} ragged lines",
        "missing": "{count} missing",
        "more_columns": "… and {count} more columns",
        "more_sheets": "… and {count} more sheets",
        "sheet": 'Sheet "{name}"',
        "sheet_size": 'Sheet "{name}" ({rows} rows × {columns} columns)',
        "image": "{format}, {width} × {height} pixels, {bytes} bytes",
        "page": "Page {number} of {pages}",
        "slide": "Slide {number}",
        "notes": "Notes",
        "notes_text": "Notes: {text}",
        "untitled": "Untitled",
    },
    "zh": {
        "table": "{rows} 行 × {columns} 列",
        "typed_rows": "（类型取自前 {rows} 行）",
        "ragged": "{lines} 行的列数不一致",
        "missing": "缺失 {count} 个",
        "more_columns": "…… 另有 {count} 列",
        "more_sheets": "…… 另有 {count} 个工作表",
        "sheet": "工作表“{name}”",
        "sheet_size": "工作表“{name}”（{rows} 行 × {columns} 列）",
        "image": "{format}，{width} × {height} 像素，{bytes} 字节",
        "page": "第 {number} 页，共 {pages} 页",
        "slide": "幻灯片 {number}",
        "notes": "注释",
        "notes_text": "备注：{text}",
        "untitled": "无标题",
    },
}


def words(language, key, **values):
    """The words of this key in a language (`en`, `zh`), filled in; nothing in `values` is a format itself."""
    return _WORDS.get(language, _WORDS["en"])[key].format(**values)
