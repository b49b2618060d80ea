//! The response for the home page of JoyAgent's UI.

use serde::Serialize;

/// The models for data questions: always an empty list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelListBody {
    /// Always 200, for JoyAgent's page.
    pub code: u16,
    /// The empty list of models.
    pub data: Vec<String>,
}
