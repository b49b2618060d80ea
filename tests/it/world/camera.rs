//! A tool that answers with images.

use std::sync::Arc;

use djinn_aws::AwsStore;
use djinn_core::file::media_type_of;
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolOutput, ToolPolicy, ToolSpec};
use djinn_runtime::port::file::{Files as _, NewFile};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError};
use serde_json::{Map, Value, json};

/// A tool that writes an image of the name that it is given, and answers with it.
#[derive(Clone)]
pub(crate) struct Camera {
    pub(crate) store: Arc<AwsStore>,
    /// Whether its images are somewhere else by the time that they are shown.
    pub(crate) loses_them: bool,
}

impl Camera {
    /// What an image of this name holds.
    pub(crate) fn content(name: &str) -> Vec<u8> {
        [b"\x89PNG\r\n\x1a\n", name.as_bytes()].concat()
    }
}

impl Tool for Camera {
    fn spec(&self, _: Language) -> ToolSpec {
        ToolSpec {
            name: "camera".to_owned(),
            description: "Takes a picture.".to_owned(),
            schema: json!({"type": "object"}),
            effect: EffectClass::Idempotent,
            policy: ToolPolicy::default(),
            timeout_ms: 60_000,
            visible: true,
        }
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let name = arguments["name"].as_str().unwrap();
            let new = NewFile {
                name: FileName::new(name).unwrap(),
                description: "a picture".to_owned(),
                internal: true,
                media_type: media_type_of(name).to_owned(),
                uploaded: false,
                writer: context.user.clone(),
            };
            let written = self.store.write_file(&context.session, &new, &Self::content(name)).await;
            let mut image = written.unwrap();
            let files = vec![image.clone()];
            if self.loses_them {
                image.object.push_str("-gone");
            }
            Ok(ToolOutput { files, images: vec![image], ..ToolOutput::from_text("Click.") })
        })
    }

    fn check_arguments(&self, _: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }
}
