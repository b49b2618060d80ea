//! The tables of JoyAgent's data page.

use std::time::Duration;

use axum::extract::State;
use djinn_core::error_code::ErrorCode;
use djinn_messages::Wording;
use djinn_protocol::body::{
    DataColumnBody, DataModelBody, DataPreviewBody, DataPreviewRows, ModelListBody,
};
use djinn_protocol::joyagent_data::{data_type, neutralize, show_cell};
use djinn_protocol::request::DataPreviewQuery;
use djinn_runtime::port::table::{ListedColumn, ListedTable, TablePreview, TableUnavailable};

use crate::agent::{AgentPorts, SharedAgent};
use crate::api_error::ApiError;
use crate::identity::Caller;
use crate::query::UrlQuery;
use crate::reply::{JsonReply, ReplyResult};

/// The codes in the bodies of responses: JoyAgent's page shows `msg` unless the code is 200.
const OK: u16 = 200;
const UNAVAILABLE: u16 = 503;

/// Maximum rows of a preview.
const PREVIEW_ROWS: u32 = 100;

/// Maximum time to read tables for their list. The page waits for 10 s.
const LIST_WAIT: Duration = Duration::from_secs(7);
/// Maximum time to read the first rows of a table.
const PREVIEW_WAIT: Duration = Duration::from_secs(9);

/// The field with the name of a table.
const MODEL_CODE: &str = "modelCode";

/// `GET /data/allModels`: the caller's tables. The home page of JoyAgent's UI fails without this route.
pub(crate) async fn list_models<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
) -> ReplyResult {
    let agent = agent.refresh().await;
    let ports = &agent.ports;
    let user = caller.user_key();
    let time_zone = agent.settings.run.time_zone;
    let tables = ports.tables().list_tables(ports.sandbox(), &user, time_zone, LIST_WAIT).await;
    JsonReply::json(&ModelListBody { code: OK, data: tables.iter().map(show_table).collect() })
}

/// `GET /data/previewData`: the first rows of a table. If there are none yet, the body has an error. The status stays
/// 200, because the page shows no message of a response with another status.
pub(crate) async fn preview_data<P: AgentPorts>(
    State(agent): State<SharedAgent<P>>,
    caller: Caller,
    UrlQuery(query): UrlQuery<DataPreviewQuery>,
) -> ReplyResult {
    let agent = agent.refresh().await;
    let name = query.model_code.unwrap_or_default();
    if name.is_empty() {
        return Err(ApiError::invalid_field(MODEL_CODE, "is missing: name a table of the list"));
    }
    let ports = &agent.ports;
    let user = caller.user_key();
    let tables = ports.tables();
    let time_zone = agent.settings.run.time_zone;
    let sandbox = ports.sandbox();
    let preview =
        tables.preview_table(sandbox, &user, time_zone, &name, PREVIEW_ROWS, PREVIEW_WAIT);
    let body = match preview.await {
        None => return Err(ApiError::from(ErrorCode::TableNotFound).with_field(MODEL_CODE)),
        Some(Ok(preview)) => {
            DataPreviewBody { code: OK, msg: String::new(), data: show_preview(preview) }
        }
        Some(Err(error)) => {
            let sentence = match error {
                TableUnavailable::Slow => Wording::TableSlow,
                TableUnavailable::Unreadable => Wording::TableUnreadable,
            };
            let msg = sentence.text(agent.settings.run.language).to_owned();
            let data = DataPreviewRows { error_message: msg.clone(), ..DataPreviewRows::default() };
            DataPreviewBody { code: UNAVAILABLE, msg, data }
        }
    };
    JsonReply::json(&body)
}

fn show_table(table: &ListedTable) -> DataModelBody {
    let name = neutralize(&table.name);
    let column = |column: &ListedColumn| DataColumnBody {
        model_code: name.clone(),
        column_id: neutralize(&column.name),
        column_name: neutralize(&column.name),
        column_comment: neutralize(&column.about),
        few_shot: neutralize(&column.samples.join(",")),
        data_type: data_type(&column.kind),
        synonyms: neutralize(&column.also.join(",")),
    };
    let rules = neutralize(&table.rules);
    DataModelBody {
        model_name: neutralize(&table.title),
        use_prompt: rules.clone(),
        business_prompt: rules,
        kind: if table.sql.is_some() { "SQL" } else { "TABLE" },
        content: neutralize(table.sql.as_deref().unwrap_or(&table.name)),
        schema_list: table.columns.iter().map(column).collect(),
        model_code: name,
    }
}

fn show_preview(preview: TablePreview) -> DataPreviewRows {
    let columns: Vec<String> = preview.columns.iter().map(|name| neutralize(name)).collect();
    let rows = preview
        .rows
        .iter()
        .map(|row| columns.iter().cloned().zip(row.iter().map(show_cell)).collect());
    DataPreviewRows {
        query_sql: preview.sql,
        data_size: preview.rows.len(),
        data_list: rows.collect(),
        column_en_list: columns.clone(),
        column_list: columns,
        success: true,
        error_message: String::new(),
    }
}
