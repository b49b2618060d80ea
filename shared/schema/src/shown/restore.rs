//! Arguments by shown names, named as the original schema names them.

use serde_json::{Map, Value};

use super::ShownSchema;

impl ShownSchema {
    /// Returns arguments that a model wrote for the shown form, with the original names of their properties.
    /// Fields that the shown form does not know keep their names.
    #[must_use]
    pub fn restore(&self, arguments: &Value) -> Value {
        if self.names.is_empty() {
            return arguments.clone();
        }
        self.restore_value(&[&self.schema], arguments)
    }

    /// Restores a value that one of these schemas describes.
    fn restore_value(&self, schemas: &[&Value], value: &Value) -> Value {
        let branches: Vec<&Value> = schemas
            .iter()
            .flat_map(|schema| match schema.get("anyOf").and_then(Value::as_array) {
                Some(branches) => branches.iter().collect(),
                None => vec![*schema],
            })
            .collect();
        match value {
            Value::Object(fields) => {
                let restored = fields.iter().map(|(name, field)| {
                    let known: Vec<_> = branches
                        .iter()
                        .filter_map(|branch| branch.get("properties")?.get(name))
                        .collect();
                    if known.is_empty() {
                        let others: Vec<_> = branches
                            .iter()
                            .filter_map(|branch| branch.get("additionalProperties"))
                            .collect();
                        (name.clone(), self.restore_value(&others, field))
                    } else {
                        let original = self.names.get(name).unwrap_or(name).clone();
                        (original, self.restore_value(&known, field))
                    }
                });
                Value::Object(restored.collect::<Map<String, Value>>())
            }
            Value::Array(items) => {
                let schemas: Vec<_> =
                    branches.iter().filter_map(|branch| branch.get("items")).collect();
                items.iter().map(|item| self.restore_value(&schemas, item)).collect()
            }
            other => other.clone(),
        }
    }
}
