//! The terms of a tool: the runs that are offered it, and the rules for its calls.

use djinn_core::tool::{EffectClass, Risk};

use crate::fields::{FieldReader, Section, list_choices};

/// Maximum seconds of a call.
pub const MAX_TIMEOUT_S: u32 = 300;

/// Default seconds of a call.
const TIMEOUT_S: u32 = 30;

/// Maximum names in a list of `[offer]`.
const MAX_OFFERED: usize = 100;

/// The runs that are offered a tool, and the rules for its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolTerms {
    /// The effect of a second call (default once).
    pub effect: EffectClass,
    /// The possible harm of a wrong call (default high).
    pub risk: Risk,
    /// The calls that a run makes without approval after it has read untrusted text.
    pub trust: ToolTrust,
    /// The timeout of a call in seconds, at most [`MAX_TIMEOUT_S`] (default 30).
    pub timeout_s: u32,
    /// True if users see the raw result (default false).
    pub is_visible: bool,
    /// False for a tool that no run is offered (default true).
    pub is_enabled: bool,
    /// The runs that are offered the tool (default all).
    pub offer: ToolOffer,
}

/// The calls that a run makes without approval after it has read untrusted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolTrust {
    /// No call.
    None,
    /// Calls of a tool that only reads, with short arguments.
    Reads,
    /// Every call.
    All,
}

/// The runs that are offered a tool. An empty list includes all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOffer {
    /// The ids of tenants.
    pub tenants: Vec<String>,
    /// The names of the modes at the root of a run's tree.
    pub modes: Vec<String>,
    /// The names of agents. With a list, no other agent and no run without an agent is offered the tool.
    pub agents: Vec<String>,
}

const EFFECTS: [(&str, EffectClass); 3] = [
    ("read", EffectClass::Read),
    ("idempotent", EffectClass::Idempotent),
    ("once", EffectClass::Once),
];

const RISKS: [(&str, Risk); 3] =
    [("low", Risk::Low), ("medium", Risk::Medium), ("high", Risk::High)];

const TRUSTS: [(&str, ToolTrust); 3] =
    [("none", ToolTrust::None), ("reads", ToolTrust::Reads), ("all", ToolTrust::All)];

/// The fields of [`TermFields`].
pub(crate) const TERM_FIELDS: [&str; 5] = ["effect", "risk", "timeout_s", "visible", "enabled"];

/// The terms that a file sets for a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TermFields {
    pub(crate) effect: Option<EffectClass>,
    pub(crate) risk: Option<Risk>,
    pub(crate) timeout_s: Option<u32>,
    pub(crate) is_visible: Option<bool>,
    pub(crate) is_enabled: Option<bool>,
}

impl TermFields {
    pub(crate) fn read<'a>(reader: &mut FieldReader<'a>, section: &Section<'a>) -> Self {
        Self {
            effect: reader.read_choice(section, "effect", &EFFECTS),
            risk: reader.read_choice(section, "risk", &RISKS),
            timeout_s: reader.read_number(section, "timeout_s", MAX_TIMEOUT_S),
            is_visible: reader.read_switch(section, "visible"),
            is_enabled: reader.read_switch(section, "enabled"),
        }
    }

    /// Returns these terms, with those of `other` for what they leave open.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            effect: self.effect.or(other.effect),
            risk: self.risk.or(other.risk),
            timeout_s: self.timeout_s.or(other.timeout_s),
            is_visible: self.is_visible.or(other.is_visible),
            is_enabled: self.is_enabled.or(other.is_enabled),
        }
    }

    /// Returns the terms, with defaults for what is open.
    pub(crate) fn with_defaults(self, trust: ToolTrust, offer: ToolOffer) -> ToolTerms {
        ToolTerms {
            effect: self.effect.unwrap_or(EffectClass::Once),
            risk: self.risk.unwrap_or(Risk::High),
            trust,
            timeout_s: self.timeout_s.unwrap_or(TIMEOUT_S),
            is_visible: self.is_visible.unwrap_or(false),
            is_enabled: self.is_enabled.unwrap_or(true),
            offer,
        }
    }
}

impl ToolTrust {
    /// Returns the word of the trust in files.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Reads => "reads",
            Self::All => "all",
        }
    }
}

/// Reads `trust`, which has no default.
pub(crate) fn read_trust<'a>(reader: &mut FieldReader<'a>, top: &Section<'a>) -> Option<ToolTrust> {
    if !top.has_field("trust") {
        reader.refuse(1, format!("`trust` is missing: {}", list_choices(&TRUSTS)));
    }
    reader.read_choice(top, "trust", &TRUSTS)
}

/// Reads the section `[offer]`.
pub(crate) fn read_offer<'a>(reader: &mut FieldReader<'a>, top: &Section<'a>) -> ToolOffer {
    let Some(section) = reader.read_section(top, "offer") else { return ToolOffer::default() };
    reader.check_names(&section, &["tenants", "modes", "agents"]);
    let mut read = |name| {
        let names = reader.read_names(&section, name).unwrap_or_default();
        if names.len() > MAX_OFFERED {
            let rule =
                format!("`offer.{name}` has {} names: the limit is {MAX_OFFERED}", names.len());
            reader.refuse(section.line, rule);
        }
        names
    };
    ToolOffer { tenants: read("tenants"), modes: read("modes"), agents: read("agents") }
}
