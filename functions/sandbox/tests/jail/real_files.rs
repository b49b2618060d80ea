//! Files as people send them, in `cases/`, and the right value for each.

use std::fs;
use std::path::Path;

use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_runtime::port::sandbox::{JobEnd, LookValue, SandboxFile, SandboxJob, SandboxWork};

use crate::features::extract;
use crate::python::{TestSandbox, block, file, start};

/// A table, the parts of its description, and what its read data come to.
struct TableCase {
    name: &'static str,
    parts: &'static [&'static str],
    /// Prints facts of `t`, the table as the description says to read it.
    code: &'static str,
    printed: &'static str,
}

const SHAPE: &str = "print(t.shape)";

#[rustfmt::skip]
const TABLES: &[TableCase] = &[
    TableCase { name: "gbk-comments.csv", parts: &["encoding=\"gb18030\"", "太好了！！！！"], code: "print(t.iloc[0, 2])", printed: "太好了！！！！" },
    TableCase { name: "gbk-units.csv", parts: &["encoding=\"gb18030\"", "21℃ | 41％ | 10㎡"], code: "print(*t.iloc[0])", printed: "A1 21℃ 41％ 10㎡" },
    TableCase { name: "semicolon-decimal-comma.csv", parts: &["encoding=\"cp1252\"", "sep=';'", "München", "Umsatz: float64"], code: "print(*t.Region, *t.Umsatz, t.Datum[0].date())", printed: "München Köln Zürich 1234.56 987.1 12000.0 2025-02-01" },
    TableCase { name: "utf8-one-bad-byte.csv", parts: &["北京 | 1200 | 老客户", "新客\u{fffd}"], code: "print(t.iloc[1, 2], t.iloc[2, 0])", printed: "新客\u{fffd} 广州" },
    TableCase { name: "utf16.csv", parts: &["encoding=\"utf-16\"", "北京 | 1200"], code: SHAPE, printed: "(2, 2)" },
    TableCase { name: "big5.csv", parts: &["encoding=\"big5\"", "臺北 | 1200 | 老客戶"], code: SHAPE, printed: "(3, 3)" },
    TableCase { name: "sjis.csv", parts: &["encoding=\"shift_jis\"", "東京 | 1200 | 常連のお客様"], code: SHAPE, printed: "(2, 3)" },
    TableCase { name: "euckr.csv", parts: &["encoding=\"euc_kr\"", "서울 | 1200 | 단골"], code: SHAPE, printed: "(2, 3)" },
    TableCase { name: "cp1251.csv", parts: &["encoding=\"cp1251\"", "Москва | 1200 | постоянный"], code: SHAPE, printed: "(2, 3)" },
    TableCase { name: "alipay-like.csv", parts: &["6 rows × 9 columns", "skiprows=16", "- 金额: float64", "20250100000000000"], code: "print(t.iloc[:, 5].sum(), t.iloc[0, 7].strip())", printed: "450.5 20250100000000000" },
    TableCase { name: "titled.csv", parts: &["2 rows × 4 columns", "| 地区 | 一月 | 二月 | 三月 |", "The last row (\"合计\") is a total"], code: "print(len(t), t.一月.sum())", printed: "2 15" },
    TableCase { name: "multiline-cells.csv", parts: &["10 rows × 3 columns", "line one\\nline two\\nline three 1"], code: "", printed: "" },
    TableCase { name: "ids.csv", parts: &["- 工号: str", "- 身份证号: str", "- 邮编: str", "00123 | 110101199003078888 | 010010"], code: "print(*t.iloc[0])", printed: "00123 110101199003078888 010010" },
    TableCase { name: "far-cell.xlsx", parts: &["2 rows × 2 columns", "| 1 | 2 |"], code: SHAPE, printed: "(2, 2)" },
    TableCase { name: "stray-last-row.xlsx", parts: &["50 rows × 12 columns"], code: SHAPE, printed: "(50, 12)" },
    TableCase { name: "stray-last-col.xlsx", parts: &["50 rows × 2 columns"], code: SHAPE, printed: "(50, 2)" },
    TableCase { name: "offset-table.xlsx", parts: &["2 rows × 3 columns", "| 月份 | 收入 | 支出 |", "| 二月 | 7 |  |"], code: "print(*t.columns, *t.iloc[0])", printed: "月份 收入 支出 一月 5 3" },
    TableCase { name: "times-hidden.xlsx", parts: &["09:30:00 | 26:05:00 | 2025-01-01 |", "2025-12-31 23:59:59", "- id: string", "Sheet \"隐藏\": hidden, not read", "Sheet \"空\": empty"], code: "print(t.id[0], t.time[0])", printed: "440106197512121234 09:30:00" },
    TableCase { name: "chartsheet.xlsx", parts: &["3 rows × 2 columns", "Sheet \"Chart1\": a chart"], code: "", printed: "" },
    TableCase { name: "merged-dates-formula.xlsx", parts: &["3 rows × 8 columns", "header=1", "13800138000 | 2025-01-05 | 1200.5", "=E3*2 | 第一行\\n第二行", "Merged cells (only the first of each has the value): A3:A4", "Formulas without a stored value: G3, G4, G5, E6", "The last row (\"合计\") is a total"], code: "print(len(t), t.联系电话[0])", printed: "3 13800138000" },
];

/// A document, the parts of its text, its notes, and what is wrong with it.
type DocumentCase =
    (&'static str, &'static [&'static str], &'static [&'static str], Option<&'static str>);

#[rustfmt::skip]
const DOCUMENTS: &[DocumentCase] = &[
    ("contract.docx", &["合同编号：HT-2025-0188", "甲方：星河科技有限公司", "合同金额：人民币 128,000 元", "付款期限为60天。", "| 服务器 型号 R750 | 2 | 80000 |", "| 合计 |  | 128000 |", "逾期违约金每日万分之五"], &["deletions"], None),
    ("grouped.pptx", &["第三季度回顾", "华东收入 420 万", "华北收入 310 万", "| 三月 | 18.25 |"], &[], None),
    ("form.pdf", &["name: Zhang San", "amount: 128000", "agree: Yes"], &[], None),
    ("owner-password.pdf", &["Secret total 4711"], &[], None),
    ("user-password.pdf", &[], &[], Some("encrypted")),
    ("csv-as.xlsx", &["地区,销售额"], &[], None),
    ("html-as.xls", &["<td>华东</td>"], &[], None),
    ("data.zip", &[], &[], Some("no_document")),
    ("photo.heic", &[], &[], Some("no_text")),
    ("logo.svg", &["<svg", "Logo"], &[], None),
    ("merged-dates-formula.xlsx", &["华东\t甲公司\t13800138000\t2025-01-05\t1200.5\t0.25\t=E3*2\t第一行\\n第二行"], &["formulas"], None),
    ("times-hidden.xlsx", &["440106197512121234\t09:30:00\t26:05:00\t2025-01-01"], &[], None),
    ("far-cell.xlsx", &["(3 rows × 2 columns)"], &[], None),
    ("gbk-comments.csv", &["太好了！！！！"], &[], None),
    ("utf8-one-bad-byte.csv", &["北京,1200,老客户"], &["replaced:1"], None),
];

fn case(name: &str) -> SandboxFile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jail/cases").join(name);
    file(name, fs::read(path).unwrap())
}

/// The descriptions of files, and the seconds that they took.
async fn look_in_time(sandbox: &TestSandbox, files: Vec<SandboxFile>) -> (Vec<LookValue>, f64) {
    let names: Vec<FileName> = files.iter().map(|file| file.name.clone()).collect();
    let work = SandboxWork::Look { names: names.clone(), language: Language::En };
    let answer = sandbox.run(SandboxJob { work, files, state: Vec::new() }).await;
    assert_eq!(answer.end, JobEnd::Done);
    let value = |name: &FileName| answer.value[name.as_str()].clone();
    let looks = names.iter().map(|name| serde_json::from_value(value(name)).unwrap());
    (looks.collect(), answer.seconds)
}

async fn look(sandbox: &TestSandbox, files: Vec<SandboxFile>) -> Vec<LookValue> {
    look_in_time(sandbox, files).await.0
}

/// What a block prints that reads a table as its description says.
async fn print_facts(sandbox: &TestSandbox, table: &TableCase, look: &LookValue) -> String {
    let call = look.text.lines().find(|line| line.starts_with("pd.read_")).unwrap();
    let name = table.name;
    let code = format!("import pandas as pd\nname = {name:?}\nt = {call}\n{}", table.code);
    let answer = sandbox.run(SandboxJob { files: vec![case(name)], ..block(&code) }).await;
    format!("{}{}", answer.output.head, answer.value["error"]).replace("\nnull", "")
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn tables_of_real_use_are_described_and_read_right() {
    let sandbox = start();
    let looks = look(&sandbox, TABLES.iter().map(|table| case(table.name)).collect()).await;
    let mut wrong = Vec::new();
    for (table, look) in TABLES.iter().zip(&looks) {
        let missing = table.parts.iter().filter(|part| !look.text.contains(**part));
        wrong.extend(missing.map(|part| format!("{}: {part}: {}", table.name, look.text)));
        assert_eq!(look.problem, "", "{}", table.name);
        if !table.code.is_empty() {
            let printed = print_facts(&sandbox, table, look).await;
            if printed != table.printed {
                wrong.push(format!("{}: {printed}", table.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let notes = |name| {
        let place = TABLES.iter().position(|table| table.name == name).unwrap();
        looks[place].notes.clone()
    };
    assert_eq!(notes("utf8-one-bad-byte.csv"), ["replaced:1"]);
    assert_eq!(notes("merged-dates-formula.xlsx"), ["formulas"]);
    assert!(notes("gbk-comments.csv").is_empty());
}

/// Short texts, each in the encoding that it is found to have.
#[rustfmt::skip]
const TEXTS: &[(&str, &[&str])] = &[
    ("gb18030", &["地区,销售额\n北京,1\n", "姓名,年龄\n张伟,31\n王芳,28\n", "备注\n联通\n", "品名,规格\n螺丝,M8\n", "朋友们,你们好!"]),
    ("big5", &["姓名,年齡\n陳怡君,31\n林志豪,28\n", "產品,價格\n蘋果,5.5\n", "繁體中文測試文件,今天天氣很好"]),
    ("shift_jis", &["氏名,年齢\n佐藤,31\n鈴木,28\n", "商品名,価格\nりんご,100\n", "これはテストです。"]),
    ("euc_kr", &["이름,나이\n김철수,31\n", "상품,가격\n사과,100\n", "제품명,수량,단가\n볼펜,10,500\n"]),
    ("cp1252", &["name,city\nJosé,Málaga\nFrançois,Orléans\n", "Größe;Straße\n10;Weißer Weg\n", "price\n5 €\n", "naïve – “quoted”", "Malmö;Århus;Ærø"]),
    ("cp1251", &["Имя,Возраст\nИван,31\n", "НАИМЕНОВАНИЕ;КОЛ-ВО\nБОЛТ;1\n", "Привет, мир! №5"]),
    ("utf-16-le", &["城市,销售额\n北京,客户名称很长很长\n上海,新客户\n", "region;n\nSüd;1\n"]),
    ("utf-8", &["城市\n北京\n", "Süd;1\n"]),
];

/// The bytes of texts in an encoding.
async fn encode(sandbox: &TestSandbox, encoding: &str, texts: &[&str]) -> Vec<Vec<u8>> {
    let code =
        format!("import sys\nfor text in {texts:?}:\n    print(text.encode({encoding:?}).hex())");
    let answer = sandbox.run_code(&code).await;
    let byte =
        |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
    let line = |line: &str| line.as_bytes().chunks(2).map(byte).collect();
    answer.output.head.lines().map(line).collect()
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn encoding_of_a_short_text_is_found() {
    let sandbox = start();
    for (encoding, texts) in TEXTS {
        let encoded = encode(&sandbox, encoding, texts).await;
        let files =
            encoded.into_iter().enumerate().map(|(at, text)| file(&format!("{at}.txt"), text));
        let looks = look(&sandbox, files.collect()).await;
        assert_eq!(looks.len(), texts.len());
        for (look, text) in looks.iter().zip(*texts) {
            assert_eq!(
                (look.text.as_str(), look.notes.as_slice()),
                (*text, [].as_slice()),
                "{encoding}"
            );
        }
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn both_encodings_are_named_where_they_are_close_and_a_bad_byte_spoils_none() {
    let sandbox = start();
    let close = encode(&sandbox, "gb18030", &["鞍钢,4\n"]).await.remove(0);
    let mut spoilt =
        encode(&sandbox, "gb18030", &["姓名,年龄\n张伟,31\n".repeat(20).as_str()]).await.remove(0);
    spoilt.extend(b"\xff\n");
    let looks = look(&sandbox, vec![file("close.txt", close), file("spoilt.txt", spoilt)]).await;
    let [note] = looks[0].notes.as_slice() else { panic!("{looks:?}") };
    assert!(note.starts_with("encodings:") && note.contains("gb18030"), "{note}");
    assert!(looks[1].text.starts_with("姓名,年龄\n张伟,31"), "{looks:?}");
    assert_eq!(looks[1].notes, ["replaced:1"]);
}

/// Tables that are hard to read, the parts of their descriptions, and what is printed of the table read so.
const HARD_TABLES: &[(&str, &[&str], &str, &str)] = &[
    ("d,v\n13/02/2025,1\n01/03/2025,2\n", &["dayfirst=True"], "print(t.d[1].month)", "3\n"),
    ("n,amount\nx,\"1,234.50\"\ny,7.5\n", &["thousands=','"], "print(t.amount.sum())", "1242.0\n"),
    ("id,n\n1,\n2,5\n3,NA\n", &["n: Int64, 2 missing"], "print(t.n[1])", "5\n"),
    ("a,b\n1,2,\n3,4,\n5,6,\n", &["3 rows × 2 columns"], "print(*t.columns, *t.b)", "a b 2 4 6\n"),
    ("a,b\n1,\"x\n2,y\n3,z\n", &["3 rows × 2 columns"], "print(*t.b)", "\"x y z\n"),
    (
        "标题\n\n名称,金额,备注\na,1,x\nb,2,y\n总计,3,\n\n制表：张三,,\n",
        &["2 rows × 3 columns", "1 lines after the table", "(\"总计\") is a total"],
        "print(t.金额.sum())",
        "3\n",
    ),
];

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn hard_tables_are_described_and_read_right() {
    let sandbox = start();
    for (text, parts, code, printed) in HARD_TABLES {
        let [look] = look(&sandbox, vec![file("a.csv", *text)]).await.try_into().unwrap();
        for part in *parts {
            assert!(look.text.contains(part), "{text}: {part}: {}", look.text);
        }
        let call = look.text.lines().find(|line| line.starts_with("pd.read_")).unwrap();
        let code = format!("import pandas as pd\nname = 'a.csv'\nt = {call}\n{code}");
        let answer = sandbox.run(SandboxJob { files: vec![file("a.csv", *text)], ..block(&code) });
        let answer = answer.await;
        assert_eq!(answer.output.head, *printed, "{text}: {}", answer.value["error"]);
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn documents_of_real_use_are_read_whole_or_with_a_note() {
    let sandbox = start();
    for (name, parts, notes, problem) in DOCUMENTS {
        let read = extract(&sandbox, name, case(name).content).await;
        for part in *parts {
            assert!(read.text.contains(part), "{name}: {part}: {}", read.text);
        }
        assert!(read.notes.iter().eq(*notes), "{name}: {:?}", read.notes);
        assert_eq!(read.problem.as_deref(), *problem, "{name}");
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn text_is_read_wherever_word_and_powerpoint_keep_it() {
    let sandbox = start();
    let written = sandbox.run_code(include_str!("documents_hidden.py")).await.products;
    let expected: [(&str, &[&str]); 2] = [
        (
            "a.docx",
            &[
                "The body[^2]",
                "text in a box",
                "a row in a control",
                "Footer: a footer",
                "[^2]: a footnote",
                "Comment: a comment",
            ],
        ),
        ("a.pptx", &["- plan", "- build"]),
    ];
    for (file, (name, parts)) in written.into_iter().zip(expected) {
        let read = extract(&sandbox, name, file.content).await;
        for part in parts {
            assert_eq!(read.text.matches(part).count(), 1, "{name}: {part}: {}", read.text);
        }
    }
}

/// Writes a table whose texts look like formulas in each way, and a formula that is meant.
const WRITE_TEXTS: &str = r#"
import csv
import openpyxl
import pandas as pd
texts = ["=1+1", "=cmd|' /C calc'!A0", "+1 (2)|x", "@SUM(A1)", "-5", "+86 138 0013 8000", "-", "@name", "a=b"]
table = pd.DataFrame({"text": texts, "number": range(-4, 5)})
table.to_csv("a.csv", index=False)
with open("b.csv", "w", newline="") as file:
    csv.DictWriter(file, ["text"]).writerows({"text": text} for text in texts)
for engine in ("openpyxl", "xlsxwriter"):
    with pd.ExcelWriter("a.xlsx", engine=engine) as writer:
        table.to_excel(writer, index=False)
        sheet = writer.book.worksheets[0] if engine == "openpyxl" else writer.book.worksheets()[0]
        if engine == "openpyxl":
            sheet["C2"] = "=SUM(B2:B10)"
        else:
            sheet.write("C2", "=SUM(B2:B10)")
    sheet = openpyxl.load_workbook("a.xlsx").active
    column = [sheet.cell(row, 1) for row in range(2, 11)]
    print([cell.value for cell in column] == texts, {cell.data_type for cell in column}, sheet["C2"].data_type)
print(list(pd.read_csv("a.csv").text))
print(list(pd.read_csv("b.csv", header=None)[0]) == list(pd.read_csv("a.csv").text))
"#;

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn texts_in_tables_stay_texts_and_formulas_of_code_stay_formulas() {
    let sandbox = start();
    let answer = sandbox.run_code(WRITE_TEXTS).await;
    let expected = "True {'s'} f\nTrue {'s'} f\n[\"'=1+1\", \"'=cmd|' /C calc'!A0\", \"'+1 (2)|x\", \
        \"'@SUM(A1)\", '-5', '+86 138 0013 8000', '-', '@name', 'a=b']\nTrue\n";
    assert_eq!(answer.output.head, expected, "{}", answer.value["error"]);
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn one_hostile_file_blinds_nobody_to_the_others() {
    let sandbox = start();
    let good = |count: usize| -> Vec<SandboxFile> {
        let file = |number| SandboxFile {
            name: FileName::new(format!("good-{number}.xlsx")).unwrap(),
            ..case("merged-dates-formula.xlsx")
        };
        (0..count).map(file).collect()
    };
    // Python is started, and what is read once is read.
    look(&sandbox, good(1)).await;
    let (_, nine) = look_in_time(&sandbox, good(9)).await;
    let wide = file("wide.csv", b",".repeat(32 * 1024 * 1024));
    for (hostile, problem) in
        [(case("far-cell.xlsx"), ""), (case("stray-last-row.xlsx"), ""), (wide, "too_large")]
    {
        let mut files = good(9);
        files.insert(0, hostile);
        let (looks, seconds) = look_in_time(&sandbox, files).await;
        println!("nine files: {nine:.2} s, with a hostile one: {seconds:.2} s");
        assert_eq!(looks[0].problem, problem);
        assert!(looks[1..].iter().all(|look| look.text.contains("3 rows × 8 columns")));
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn table_beyond_what_is_read_has_at_least_so_many_rows() {
    let sandbox = start();
    let mut table = b"id,city,amount,note\n".to_vec();
    for number in 0..2_400_000 {
        table.extend(
            format!("{number},Berlin,{}.5,customer of {}\n", number % 1_000, number % 97).bytes(),
        );
    }
    assert!(table.len() > 64 * 1024 * 1024);
    let [look] = look(&sandbox, vec![file("long.csv", table)]).await.try_into().unwrap();
    assert!(look.text.starts_with("at least 1"), "{look:?}");
}
