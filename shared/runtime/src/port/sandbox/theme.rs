//! The theme of a deployment's documents.

use djinn_core::id::FileName;
use djinn_outside::DocumentStyle;
use serde::{Deserialize, Serialize};

/// The style of a deployment's documents, and the files that belong to it, which are files of the job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DocumentTheme {
    /// Colors, fonts and footer.
    #[serde(flatten)]
    pub style: DocumentStyle,
    /// The image at the top of the first page, and of every slide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logo: Option<FileName>,
    /// The Word file whose styles, page, header and footer a document has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docx: Option<FileName>,
    /// The PowerPoint file whose layouts, colors and fonts a presentation has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pptx: Option<FileName>,
}
