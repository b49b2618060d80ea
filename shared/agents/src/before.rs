//! The key `before`: the tools and agents that are called before the first turn.

use djinn_core::agent::CallBefore;
use djinn_core::settings::Role;
use djinn_text::near_miss::find_near_miss;

use crate::fields::Fields;
use crate::problem::{Fault, quote};
use crate::yaml::{Content, KeyEntry, Node};

/// Maximum tools and agents that are called before an agent's first turn.
const MAX_CALLS_BEFORE: usize = 8;

/// The roles whose models agents may use.
pub(crate) const ROLES: [(&str, Role); 10] = [
    ("react", Role::React),
    ("planner", Role::Planner),
    ("executor", Role::Executor),
    ("code", Role::Code),
    ("data", Role::Data),
    ("analysis", Role::Analysis),
    ("report", Role::Report),
    ("search", Role::Search),
    ("router", Role::Router),
    ("critic", Role::Critic),
];

/// The keys of an agent in `before` with another model.
const KEYS: [&str; 2] = ["agent", "model"];

/// Parses the calls before the first turn, each with its line. Rejects calls that stand in the list twice.
pub(crate) fn read_before(fields: &Fields) -> Result<Vec<(CallBefore, usize)>, Fault> {
    let Some(entry) = fields.find_entry("before") else { return Ok(Vec::new()) };
    let calls = match &entry.node.content {
        Content::List(items) if items.iter().any(is_mapping) => {
            items.iter().map(|item| Ok((read_call(item)?, item.line))).collect::<Result<_, _>>()?
        }
        Content::List(_) | Content::Scalar(_) | Content::Mapping(_) => {
            let names = fields.read_names("before")?.into_iter();
            names.map(|(name, line)| (CallBefore::Name(name), line)).collect::<Vec<_>>()
        }
    };
    let is_repeated = |(nth, (call, _)): &(usize, &(CallBefore, usize))| {
        calls.iter().take(*nth).any(|(other, _)| other == call)
    };
    if let Some((_, (call, line))) = calls.iter().enumerate().find(is_repeated) {
        return Err(Fault::new(*line, format!("`before` holds {} twice", quote(call.name()))));
    }
    if calls.len() > MAX_CALLS_BEFORE {
        let count = calls.len();
        let rule = format!("`before` has {count} calls: the limit is {MAX_CALLS_BEFORE}");
        return Err(Fault::new(entry.line, rule));
    }
    Ok(calls)
}

fn is_mapping(item: &Node) -> bool {
    matches!(item.content, Content::Mapping(_))
}

/// Parses a name, or an agent with another model.
fn read_call(item: &Node) -> Result<CallBefore, Fault> {
    let Content::Mapping(entries) = &item.content else {
        let key = "before".to_owned();
        let entry = KeyEntry { key, line: item.line, node: item.clone() };
        let name = Fields::new(vec![entry]).read_required("before", "a name")?.to_owned();
        return Ok(CallBefore::Name(name));
    };
    if let Some(other) = entries.iter().find(|entry| !KEYS.contains(&entry.key.as_str())) {
        let hint = find_near_miss(&other.key, KEYS)
            .map(|near_miss| format!(": did you mean `{near_miss}`?"))
            .unwrap_or_default();
        let rule = format!("{} is not a key of an agent in `before`{hint}", quote(&other.key));
        return Err(Fault::new(other.line, rule));
    }
    let fields = Fields::new(entries.clone());
    let at_item =
        |fault: Fault| if fault.line == 1 { Fault { line: item.line, ..fault } } else { fault };
    let agent = fields.read_required("agent", "the name of an agent").map_err(at_item)?.to_owned();
    let roles: Vec<(&str, Role)> = ROLES.into_iter().chain([("second", Role::Second)]).collect();
    Ok(match fields.read_word("model", &roles)? {
        Some(model) => CallBefore::WithModel { agent, model },
        None => CallBefore::Name(agent),
    })
}
