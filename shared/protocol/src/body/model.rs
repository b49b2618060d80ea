//! The response for the home page of JoyAgent's UI.

use serde::Serialize;

/// The models of data questions, of which there are none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelListBody {
    /// Always 200, as the page wants it.
    pub code: u16,
    /// The list, which is empty.
    pub data: Vec<String>,
}
