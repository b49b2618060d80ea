//! What ordinary code does, and must be able to do: the jail prints what Python prints outside.

use std::process::Command;

use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_runtime::port::sandbox::{ExtractValue, JobEnd, LookValue, SandboxJob, SandboxWork};
use serde::Deserialize;
use tempfile::TempDir;

use crate::python::{TestSandbox, file, python, start, value};

#[derive(Deserialize)]
struct Probes {
    probe: Vec<Probe>,
}

#[derive(Deserialize)]
pub(crate) struct Probe {
    name: String,
    pub(crate) code: String,
}

/// Blocks of ordinary code.
pub(crate) fn probes() -> Vec<Probe> {
    let read: Probes = toml::from_str(include_str!("features.toml")).unwrap();
    read.probe
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn ordinary_code_prints_in_the_jail_what_it_prints_outside() {
    let probes = probes();
    assert!(probes.len() >= 80, "there are {} probes", probes.len());
    let sandbox = start();
    let mut other = Vec::new();
    for Probe { name, code } in &probes {
        let folder = TempDir::new().unwrap();
        let mut outside = Command::new(python());
        outside.args(["-I", "-c", code]).current_dir(folder.path());
        outside.env_clear().envs([("TZ", "UTC"), ("LANG", "C.UTF-8"), ("MPLBACKEND", "Agg")]);
        let outside = outside.env("HOME", folder.path()).output().unwrap();
        assert!(outside.status.success(), "{name}: {}", String::from_utf8_lossy(&outside.stderr));
        let expected = String::from_utf8_lossy(&outside.stdout);
        let answer = sandbox.run_code(code).await;
        if answer.end != JobEnd::Done || answer.output.head != expected {
            other.push(format!("{name}: {:?} {:?}", value(&answer).error, answer.output.head));
        }
    }
    println!("{} features, {} do not work: {other:?}", probes.len(), other.len());
    assert!(other.len() * 20 <= probes.len(), "more than 5 %: {other:#?}");
}

pub(crate) async fn extract(sandbox: &TestSandbox, name: &str, content: Vec<u8>) -> ExtractValue {
    let (name, language) = (FileName::new(name).unwrap(), Language::En);
    let work = SandboxWork::Extract { name: name.clone(), offset: 0, limit: 10_000, language };
    let job = SandboxJob { work, files: vec![file(name.as_str(), content)], state: Vec::new() };
    serde_json::from_value(sandbox.run(job).await.value).unwrap()
}

/// What a block writes under this name.
async fn write_document(sandbox: &TestSandbox, code: &str) -> Vec<u8> {
    let answer = sandbox.run_code(code).await;
    assert_eq!(answer.products.len(), 1, "{answer:?}");
    answer.products[0].content.clone()
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn documents_of_office_and_pdf_are_read_as_text() {
    let sandbox = start();
    let documents = [
        (
            "a.xlsx",
            "import pandas as pd\npd.DataFrame({'région': ['北', 'Süd'], 'n': [1, 2]})\
             .to_excel('a.xlsx', sheet_name='Sales', index=False)",
            vec!["## Sheet \"Sales\" (3 rows × 2 columns)", "région\tn", "北\t1"],
        ),
        (
            "a.docx",
            "import docx\nd = docx.Document()\nd.add_heading('Growth', 1)\nd.add_paragraph('East 56 %')\n\
             t = d.add_table(1, 2)\nt.cell(0, 0).text = 'a'\nt.cell(0, 1).text = 'b'\nd.save('a.docx')",
            vec!["# Growth", "East 56 %", "| a | b |"],
        ),
        (
            "a.pptx",
            "import pptx\np = pptx.Presentation()\ns = p.slides.add_slide(p.slide_layouts[1])\n\
             s.shapes.title.text = 'Growth'\ns.placeholders[1].text = 'East'\n\
             s.notes_slide.notes_text_frame.text = 'say it'\np.save('a.pptx')",
            vec!["## Slide 1", "Growth", "East", "Notes: say it"],
        ),
        (
            "a.pdf",
            "import typst\ntypst.compile(b'East grew #pagebreak() most', output='a.pdf')",
            vec!["## Page 1 of 2", "East grew", "## Page 2 of 2", "most"],
        ),
    ];
    for (name, code, parts) in documents {
        let document = write_document(&sandbox, code).await;
        let read = extract(&sandbox, name, document).await;
        for part in parts {
            assert!(read.text.contains(part), "{name}: {part}: {read:?}");
        }
        assert_eq!(read.problem, None);
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn broken_and_hostile_documents_are_named() {
    let sandbox = start();
    let zip = |body: &str| {
        format!(
            "import zipfile\nz = zipfile.ZipFile('x', 'w', zipfile.ZIP_DEFLATED)\n{body}\nz.close()"
        )
    };
    let bomb = zip("z.writestr('xl/workbook.xml', bytes(60 << 20))");
    let many = zip(
        "[z.writestr(f'{n}', '') for n in range(10_001)]\nz.writestr('word/document.xml', 'x')",
    );
    let archive = zip("z.writestr('a.txt', 'x')");
    let not_xml = zip("z.writestr('word/document.xml', 'x')");
    let lie = "import zipfile\nz = zipfile.ZipFile('y', 'w', zipfile.ZIP_DEFLATED)\n\
        z.writestr('xl/workbook.xml', b'a' * 100_000)\nz.close()\ndata = bytearray(open('y', 'rb').read())\n\
        import os\nos.remove('y')\nimport struct\nfor at in range(len(data) - 4):\n    \
        if data[at:at + 4] == struct.pack('<I', 100_000): data[at:at + 4] = struct.pack('<I', 10)\n\
        open('x', 'wb').write(data)";
    // What is made, its name, what is wrong with it.
    let hostile = [
        (bomb.as_str(), "a.xlsx", "too_large"),
        (&many, "a.docx", "too_large"),
        (lie, "a.xlsx", "broken"),
        (&archive, "a.docx", "no_document"),
        (&not_xml, "a.docx", "broken"),
        (
            "open('x', 'wb').write(bytes.fromhex('d0cf11e0a1b11ae1') + bytes(512))",
            "a.xlsx",
            "encrypted",
        ),
        ("open('x', 'wb').write(b'PK\\x03\\x04 no')", "a.pptx", "broken"),
        ("open('x', 'wb').write(b'%PDF-1.7 no')", "a.pdf", "broken"),
        ("open('x', 'wb').write(bytes(range(256)) * 9)", "a.txt", "no_text"),
        ("open('x', 'wb').write(b'\\x89PNG\\r\\n' + bytes(99))", "a.txt", "no_text"),
    ];
    for (code, name, part) in hostile {
        let document = write_document(&sandbox, code).await;
        let read = extract(&sandbox, name, document).await;
        let said = read.problem.unwrap_or_else(|| panic!("{name} {code}: {}", read.text));
        assert_eq!(said, part, "{name} {code}");
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn tables_are_looked_at_in_whatever_way_they_are_written() {
    let sandbox = start();
    let utf16: Vec<u8> =
        "\u{feff}région;n\nSüd;1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let gbk =
        b"\xb5\xd8\xc7\xf8,\xcf\xfa\xca\xdb\xb6\xee\n\xb1\xb1\xbe\xa9,1\n\xc9\xcf\xba\xa3,2\n"
            .to_vec();
    let tables = [
        (
            "plain.csv",
            b"a,b\n1,x\n,y\n".to_vec(),
            vec!["2 rows × 2 columns", "- a: Int64, 1 missing"],
        ),
        ("semi.csv", b"a;b\n1;2\n3;4\n".to_vec(), vec!["2 rows × 2 columns", "sep=';'"]),
        ("utf16.csv", utf16, vec!["1 rows × 2 columns", "encoding=\"utf-16\"", "- région"]),
        ("gbk.csv", gbk, vec!["encoding=\"gb18030\"", "地区", "北京"]),
        ("latin.csv", b"caf\xe9,n\nd\xe9j\xe0,1\n".to_vec(), vec!["encoding=\"cp1252\"", "café"]),
        ("ragged.csv", b"a,b\n1,2\n1,2,3\n4,5\n".to_vec(), vec!["1 ragged lines"]),
        ("empty.csv", Vec::new(), vec!["broken"]),
        ("notes.md", b"# Notes\nEast grew.".to_vec(), vec!["# Notes\nEast grew."]),
    ];
    let names = tables.iter().map(|(name, ..)| FileName::new(*name).unwrap()).collect();
    let files = tables.iter().map(|(name, content, _)| file(name, content.clone())).collect();
    let job = SandboxJob {
        work: SandboxWork::Look { names, language: Language::En },
        files,
        state: Vec::new(),
    };
    let answer = sandbox.run(job).await;
    assert!(answer.products.is_empty());
    for (name, _, parts) in tables {
        let look: LookValue = serde_json::from_value(answer.value[name].clone()).unwrap();
        let text = format!("{}{}", look.text, look.problem);
        for part in parts {
            assert!(text.contains(part), "{name}: {part}: {text}");
        }
    }
}
