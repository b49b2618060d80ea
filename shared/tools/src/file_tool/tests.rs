use super::*;
use crate::typed_tool::ToolAdapter;
use djinn_core::tool::ToolState;
use djinn_runtime::port::SessionKey;
use djinn_runtime::port::sandbox::DisabledSandbox;
use djinn_runtime::port::tool::Tool as _;

/// A store that cannot be reached.
struct NoFiles;

fn unreachable<T>() -> Result<T, StoreError> {
    Err(StoreError::Unavailable("there is none".to_owned()))
}

impl Files for NoFiles {
    async fn write_file(
        &self,
        _: &SessionKey,
        _: &NewFile,
        _: &[u8],
    ) -> Result<ProductFile, StoreError> {
        unreachable()
    }

    async fn find_file(
        &self,
        _: &SessionKey,
        _: &FileName,
    ) -> Result<Option<ProductFile>, StoreError> {
        unreachable()
    }

    async fn find_arrived(
        &self,
        _: &SessionKey,
        _: &[ProductFile],
    ) -> Result<Vec<ProductFile>, StoreError> {
        unreachable()
    }

    async fn list_files(&self, _: &SessionKey) -> Result<Vec<ProductFile>, StoreError> {
        unreachable()
    }

    async fn write_state(&self, _: &SessionKey, _: &[u8]) -> Result<ToolState, StoreError> {
        unreachable()
    }

    async fn read_state(&self, _: &SessionKey, _: &ToolState) -> Result<Vec<u8>, StoreError> {
        unreachable()
    }

    async fn read_file(
        &self,
        _: &SessionKey,
        _: &ProductFile,
        _: u64,
    ) -> Result<Vec<u8>, StoreError> {
        unreachable()
    }
}

fn file_tool() -> ToolAdapter<FileTool<NoFiles>> {
    ToolAdapter::new(FileTool::new(
        Arc::new(NoFiles),
        Arc::new(Prompts::default()),
        Arc::new(DisabledSandbox(String::new())),
    ))
}

#[test]
fn the_model_sees_the_schema_that_it_always_saw() {
    let tool = file_tool();
    for language in [Language::En, Language::Zh] {
        let mut words = Prompts::default().describe_tool(language, prompt::TOOL_FILE).parameters;
        let mut about = |name: &str| words.remove(name).unwrap();
        let schema = json!({
            "type": "object",
            "properties": {
                "command": {
                    "type": "string", "enum": ["get", "upload"], "description": about("command"),
                },
                "filename": {"type": "string", "description": about("filename")},
                "description": {"type": "string", "description": about("description")},
                "content": {"type": "string", "description": about("content")},
                "offset": {"type": "integer", "minimum": 0, "description": about("offset")},
            },
            "required": ["command", "filename"],
        });
        assert_eq!(tool.spec(language).schema, schema);
        assert!(words.is_empty(), "of nothing: {words:?}");
    }
}

#[test]
fn bad_arguments_are_named() {
    let tool = file_tool();
    let check = |arguments: Value| tool.check_arguments(arguments.as_object().unwrap());
    assert_eq!(check(json!({"command": "get", "filename": "a.md", "offset": 3.0})), Ok(()));
    let error = check(json!({"command": "delete", "filename": 3})).unwrap_err();
    assert!(error.contains("/command") && error.contains("/filename"), "{error}");
    assert!(check(json!({})).unwrap_err().contains("required"));
}

#[test]
fn parts_cover_a_text_without_gaps_and_never_cut_a_character() {
    let content = "界x".repeat(1_000);
    let mut offset = 0;
    let mut read = String::new();
    loop {
        let part = TextPart::of(&content, offset, 900);
        assert_eq!(part.start as u64, offset);
        read.push_str(part.text);
        offset = part.end as u64;
        if part.end == part.total {
            break;
        }
    }
    assert_eq!(read, content);
    assert_eq!(TextPart::of(&content, u64::MAX, 900).text, "");
}
