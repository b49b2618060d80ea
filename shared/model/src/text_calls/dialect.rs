//! The formats of calls written as text by models.

use djinn_core::tool::ToolSpec;
use serde_json::{Map, Value};

/// A call's tool, under the model's name, and the arguments.
type TextCall = (String, Map<String, Value>);

/// Returns the offered tool with a name.
type Offered<'a> = dyn Fn(&str) -> Option<&'a ToolSpec> + 'a;

/// Parses a text consisting only of calls. Returns `None` if any part is unreadable.
pub(super) fn parse_calls<'a>(text: &str, find_tool: &Offered<'a>) -> Option<Vec<TextCall>> {
    let text = text.replace("<｜DSML｜", "<").replace("</｜DSML｜", "</");
    let text = text.trim();
    if text.contains("<invoke name=") {
        return parse_elements(text, "<invoke name=", "</invoke>", find_tool);
    }
    if text.contains("<function=") {
        return parse_elements(text, "<function=", "</function>", find_tool);
    }
    if text.contains("<｜tool▁call▁begin｜>") {
        return parse_each(text, "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", parse_deepseek);
    }
    if text.contains("<|tool_call_begin|>") {
        return parse_each(text, "<|tool_call_begin|>", "<|tool_call_end|>", parse_kimi);
    }
    if text.contains("<tool_call>") {
        return parse_each(text, "<tool_call>", "</tool_call>", |body| {
            parse_object(&serde_json::from_str(body).ok()?)
        });
    }
    if let Some(body) = text.strip_prefix("[TOOL_CALLS]") {
        return parse_mistral(body);
    }
    if let Some(body) = text.strip_prefix("<|channel|>") {
        return parse_harmony(body).map(|call| vec![call]);
    }
    parse_object(&serde_json::from_str(text).ok()?).map(|call| vec![call])
}

/// Parses every part between two marks; the last part may lack the end mark.
fn parse_each(
    text: &str,
    begin: &str,
    end: &str,
    parse: impl Fn(&str) -> Option<TextCall>,
) -> Option<Vec<TextCall>> {
    let bodies = text.split(begin).skip(1);
    bodies.map(|part| parse(part.split(end).next().unwrap_or(part).trim())).collect()
}

/// Parses `{"name", "arguments"}`, at the top or below `function`; arguments may be JSON text.
fn parse_object(value: &Value) -> Option<TextCall> {
    let object = value.as_object()?;
    if let Some(function @ Value::Object(_)) = object.get("function") {
        return parse_object(function);
    }
    let name_fields = ["name", "tool", "tool_name", "function"];
    let name = name_fields.iter().find_map(|member| object.get(*member)?.as_str())?;
    let arguments = ["arguments", "parameters"].iter().find_map(|member| object.get(*member))?;
    let arguments = match arguments {
        Value::Object(arguments) => arguments.clone(),
        Value::String(text) => serde_json::from_str(text).ok()?,
        _ => return None,
    };
    Some((name.to_owned(), arguments))
}

/// Reads the forms of DeepSeek: `function<｜tool▁sep｜>name` and a fenced block, or `name<｜tool▁sep｜>{…}`.
fn parse_deepseek(body: &str) -> Option<TextCall> {
    let (first, second) = body.split_once("<｜tool▁sep｜>")?;
    let (name, arguments) = match second.split_once("```json") {
        Some((name, block)) => (name, block.trim_end().strip_suffix("```")?),
        None => (first, second),
    };
    Some((name.trim().to_owned(), serde_json::from_str(arguments.trim()).ok()?))
}

/// Reads the form of Kimi: `functions.name:0<|tool_call_argument_begin|>{…}`.
fn parse_kimi(body: &str) -> Option<TextCall> {
    let (id, arguments) = body.split_once("<|tool_call_argument_begin|>")?;
    let name = id.trim().rsplit_once(':').map_or(id.trim(), |(name, _)| name);
    Some((name.to_owned(), serde_json::from_str(arguments.trim()).ok()?))
}

/// Parses a list of objects, or `name[ARGS]{…}`.
fn parse_mistral(body: &str) -> Option<Vec<TextCall>> {
    if let Some((name, arguments)) = body.split_once("[ARGS]") {
        let arguments = serde_json::from_str(arguments.trim()).ok()?;
        return Some(vec![(name.trim().to_owned(), arguments)]);
    }
    let calls: Vec<Value> = serde_json::from_str(body.trim()).ok()?;
    calls.iter().map(parse_object).collect()
}

/// Reads a message to a tool: `commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>`.
fn parse_harmony(body: &str) -> Option<TextCall> {
    let (header, arguments) = body.split_once("<|message|>")?;
    let (_, name) = header.split_once("to=")?;
    let name = name.split(['<', ' ']).next()?;
    let arguments = arguments.split("<|call|>").next()?;
    Some((name.to_owned(), serde_json::from_str(arguments.trim()).ok()?))
}

/// Parses elements named after a tool, with a child element for each parameter.
fn parse_elements<'a>(
    text: &str,
    begin: &str,
    end: &str,
    find_tool: &Offered<'a>,
) -> Option<Vec<TextCall>> {
    parse_each(text, begin, end, |body| {
        let (name, parameters) = body.split_once('>')?;
        let name = name.trim_matches(['"', '\'', ' ']);
        let tool = find_tool(name)?;
        let mut arguments = Map::new();
        for part in parameters.split("<parameter").skip(1) {
            let (key, value) = part.split_once('>')?;
            let key = key.trim_start_matches(['=', ' ']).trim_start_matches("name=");
            let key = key.split_whitespace().next()?.trim_matches(['"', '\'']);
            let (value, _) = value.split_once("</parameter>")?;
            let value = value.strip_prefix('\n').unwrap_or(value);
            let value = value.strip_suffix('\n').unwrap_or(value);
            // A parameter is text if the schema asks for text, else JSON if valid.
            let kind = tool.schema.pointer("/properties").and_then(|all| all.get(key)?.get("type"));
            let is_text = kind.and_then(Value::as_str).is_none_or(|kind| kind == "string");
            let json = if is_text { None } else { serde_json::from_str(value.trim()).ok() };
            arguments.insert(key.to_owned(), json.unwrap_or_else(|| Value::from(value)));
        }
        Some((name.to_owned(), arguments))
    })
}
