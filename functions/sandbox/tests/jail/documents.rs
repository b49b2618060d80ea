//! Documents that are made of what a model wrote, opened by what others open them with.

use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_runtime::port::sandbox::{
    DocumentFormat, JobEnd, RenderValue, SandboxFile, SandboxJob, SandboxWork,
};

use crate::features::extract;
use crate::python::{TestSandbox, block, file, start};

pub(crate) const REPORT: &str = include_str!("report.md");

/// Text of the report that is code to the program that lays out PDF documents.
const CODE: &str =
    "#read(\"/etc/passwd\") #import \"@preview/a:0.1.0\" @label <label> // = /* #panic()";

pub(crate) fn all_formats() -> [(DocumentFormat, &'static str); 5] {
    [
        (DocumentFormat::Html, "report.html"),
        (DocumentFormat::Ppt, "deck.html"),
        (DocumentFormat::Docx, "report.docx"),
        (DocumentFormat::Pptx, "report.pptx"),
        (DocumentFormat::Pdf, "report.pdf"),
    ]
}

/// What is said of a document, and the document.
pub(crate) async fn render(
    sandbox: &TestSandbox,
    (format, name): (DocumentFormat, &str),
    text: &str,
    files: Vec<SandboxFile>,
) -> (RenderValue, Option<SandboxFile>) {
    let work = SandboxWork::Render {
        format,
        name: FileName::new(name).unwrap(),
        text: text.to_owned(),
        title: String::new(),
        language: Language::En,
        theme: None,
    };
    let answer = sandbox.run(SandboxJob { work, files, state: Vec::new() }).await;
    assert_eq!(answer.end, JobEnd::Done, "{name}: {answer:?}");
    let said: RenderValue = serde_json::from_value(answer.value).unwrap();
    assert_eq!(said.problem.is_empty(), answer.products.len() == 1, "{name}: {said:?}");
    (said, answer.products.into_iter().next())
}

/// What a block prints that is given these files.
async fn print_of(sandbox: &TestSandbox, code: &str, files: Vec<SandboxFile>) -> String {
    let answer = sandbox.run(SandboxJob { files, ..block(code) }).await;
    assert_eq!(answer.value["error"], serde_json::Value::Null, "{answer:?}");
    answer.output.head
}

pub(crate) async fn draw_chart(sandbox: &TestSandbox) -> SandboxFile {
    let code = "import matplotlib.pyplot as plt\nplt.figure(figsize=(8, 4))\nplt.plot([1, 3])\n\
                plt.title('各地区')\nplt.savefig('chart.png', dpi=100)";
    sandbox.run_code(code).await.products.remove(0)
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn a_report_reads_back_as_it_was_written() {
    let sandbox = start();
    let chart = draw_chart(&sandbox).await;
    // What stands in every format, and in each.
    let common = [
        "Sales of the regions",
        "North grew",
        "各地区的销售额",
        "/C calc'!A0",
        "@sum(1)",
        "-12",
        CODE,
    ];
    let parts = [
        (
            "report.docx",
            vec!["Sales of the regions", "# Findings", "- North grew", "| North | 1,284,000 |"],
        ),
        ("report.pptx", vec!["## Slide 2", "| North | 1,284,000 |", "Notes: Say thank you."]),
        ("report.pdf", vec!["## Page 1 of 2", "Table 1", "1,284,000", "The table of sales"]),
    ];
    for format in &all_formats()[2..] {
        let (said, made) = render(&sandbox, *format, REPORT, vec![chart.clone()]).await;
        assert_eq!(said.missing_images, ["https://example.com/logo.png"], "{format:?}");
        let made = made.unwrap();
        let read = extract(&sandbox, format.1, made.content.clone()).await;
        let (_, own) = parts.iter().find(|(name, _)| *name == format.1).unwrap();
        // A PDF parts its lines where it likes.
        let flat = |text: &str| text.replace(['\r', '\n'], " ");
        for part in common.iter().chain(own) {
            assert!(flat(&read.text).contains(&flat(part)), "{}: {part}: {}", format.1, read.text);
        }
        // Made once more it is the same file.
        let (_, again) = render(&sandbox, *format, REPORT, vec![chart.clone()]).await;
        assert!(again.unwrap() == made, "{} is another each time", format.1);
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn word_and_powerpoint_find_what_they_look_for() {
    let sandbox = start();
    let chart = draw_chart(&sandbox).await;
    let [_, _, docx, pptx, pdf] = all_formats();
    let mut files = Vec::new();
    for format in [docx, pptx, pdf] {
        files.extend(render(&sandbox, format, REPORT, vec![chart.clone()]).await.1);
    }
    let code = r#"
import docx, pptx, pypdfium2
d = docx.Document('report.docx')
print(d.core_properties.title, '|', d.core_properties.language)
shape = d.inline_shapes[0]
print(len(d.inline_shapes), round(shape.width / shape.height, 2), len(d.tables))
links = [r.target_ref for r in d.part.rels.values() if r.is_external]
print(links, 'PAGE' in d.sections[0].footer._element.xml, 'w:tblHeader' in d.element.xml,
    'SEQ Table' in d.element.xml, d.element.xml.count('<m:oMath'))
p = pptx.Presentation('report.pptx')
print(round(p.slide_width / p.slide_height, 3), [s.shapes.title.text for s in p.slides])
for number, slide in enumerate(p.slides):
    for shape in slide.shapes:
        inside = shape.left >= 0 and shape.top >= 0 and shape.left + shape.width <= p.slide_width \
            and shape.top + shape.height <= p.slide_height
        if not inside: print('outside', number, shape.name)
        if shape.shape_type == 13: print('picture', round(shape.width / shape.height, 2))
pdf = pypdfium2.PdfDocument('report.pdf')
print(pdf.get_metadata_dict()['Title'], [b.get_title() for b in pdf.get_toc()])
"#;
    let told = print_of(&sandbox, code, files).await;
    let expected = "Sales of the regions | en-US\n1 2.0 2\n['https://example.com/a?b=1&c=2'] True True True 1\n\
        1.778 ['Sales of the regions', 'Findings', 'Findings', '各地区']\npicture 2.0\n\
        Sales of the regions ['Findings', 'Details', '各地区']\n";
    assert_eq!(told, expected);
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn texts_that_no_document_can_be_made_of_are_named() {
    let sandbox = start();
    let long = "x".repeat(2 * 1024 * 1024 + 1);
    for format in all_formats() {
        for (text, problem) in [("", "empty"), (" \n\t", "empty"), (long.as_str(), "too_large")] {
            let (said, _) = render(&sandbox, format, text, Vec::new()).await;
            assert_eq!(said.problem, problem, "{format:?}");
        }
    }
}

/// Each ends within the time of a job, with a document or a word that says why there is none.
#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn texts_that_are_meant_to_harm_end_with_a_document_or_a_word() {
    let sandbox = start().with_seconds(30);
    let hostile = [
        ("headings", "# h\n\n".repeat(3_000)),
        ("nested", (0..500).map(|level| format!("{}- a\n", "  ".repeat(level))).collect()),
        ("quotes", format!("{} a", ">".repeat(50_000))),
        ("one line", "word ".repeat(40_000)),
        ("one word", "x".repeat(400_000)),
        ("brackets", "[".repeat(10_000)),
        (
            "columns",
            format!("|{}\n|{}\n|{}\n", "a|".repeat(400), "-|".repeat(400), "b|".repeat(400)),
        ),
        ("unclosed", "<div><p><b>".repeat(10_000)),
        ("notes", (0..3_000).map(|nth| format!("a[^{nth}]\n\n[^{nth}]: b\n\n")).collect()),
        ("controls", "a\u{0}\u{1}\u{7f}b\u{fffe} \u{202e}c".to_owned()),
    ];
    for (name, text) in &hostile {
        for format in all_formats() {
            let (said, made) = render(&sandbox, format, text, Vec::new()).await;
            let fits = made.is_none_or(|made| made.content.len() < 20 * 1024 * 1024);
            let known = ["", "empty", "too_large"].contains(&said.problem.as_str());
            assert!(fits && known, "{name} as {format:?}: {said:?}");
        }
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn images_that_are_none_are_missing_from_every_format() {
    let sandbox = start();
    // A PNG that says it has 900 million pixels, and a file that says it is one.
    let mut bomb = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0u0\0\0u0\x08\x06\0\0\0".to_vec();
    bomb.extend([0xf7, 0x6c, 0x3b, 0x4a]);
    let files = vec![file("bomb.png", bomb), file("lie.png", "no image"), file("a.csv", "a,b")];
    let text =
        "# T\n\n![a](bomb.png)\n\n![b](lie.png)\n\n![c](a.csv)\n\n![d](../../etc/passwd)\n\nend";
    let html = "<h1>T</h1><img src=bomb.png><img src=lie.png><img src=a.csv><img src='../../etc/passwd'>end";
    for format in all_formats() {
        let is_page = matches!(format.0, DocumentFormat::Html | DocumentFormat::Ppt);
        let text = if is_page { html } else { text };
        let (said, made) = render(&sandbox, format, text, files.clone()).await;
        let missing = ["bomb.png", "lie.png", "a.csv", "../../etc/passwd"];
        assert!(made.is_some() && said.missing_images == missing, "{format:?}: {said:?}");
    }
}

/// Renders samples in all forms, without the jail, and looks for what can be measured: broken numbers, missing letters,
/// text outside its box, empty slides and pages, dead links, and what the schemas of Office do not allow.
#[test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
fn sample_reports_have_no_measurable_fault() {
    let folder = tempfile::TempDir::new().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reports/samples.py");
    let mut samples = std::process::Command::new(crate::python::python());
    let output =
        samples.arg(script).arg(folder.path()).args(crate::python::fonts()).output().unwrap();
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed}{errors}");
    assert!(printed.lines().count() > 60, "there are fewer samples: {printed}");
}
