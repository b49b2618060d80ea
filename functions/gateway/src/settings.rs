//! The operator's settings of the gateway.

use std::collections::BTreeSet;
use std::time::Duration;

use djinn_egress::EgressSettings;
use djinn_runtime::port::secret::Secret;
use djinn_settings::table::runtime::LOCAL;
use djinn_settings::table::web::{EGRESS_ORIGINS, EGRESS_PORTS, GATEWAY_ROLE, SEAL_KEY, SEARCH};
use djinn_settings::{InvalidSetting, VarLookup};
use djinn_wiring::ConfigurationFolder;
use serde::Deserialize;
use url::Url;

use crate::engine::{ENGINES, SearchEngine};
use crate::keys::KeyLocation;
use crate::sealing::SealKeys;

/// Maximum number of engines per search.
const MAX_ENGINES: usize = 6;
/// The variable with the address of Lambda's Runtime API, set by Lambda.
const RUNTIME_API: &str = "AWS_LAMBDA_RUNTIME_API";

/// All settings of the gateway.
pub struct GatewaySettings {
    /// The jobs the gateway accepts.
    pub(crate) role: GatewayRole,
    /// The engines of the variables, queried in parallel.
    pub(crate) engines: Vec<EngineSettings>,
    /// The location of the keys that seal users' keys.
    pub(crate) seal: KeyLocation,
    /// The limits on outgoing requests.
    pub(crate) egress: EgressSettings,
    /// The configuration folder, and the time for which a read is current.
    pub(crate) folder: Option<(ConfigurationFolder, Duration)>,
}

/// The jobs a gateway accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GatewayRole {
    /// Reads pages, and holds no key.
    Fetch,
    /// Queries engines, and parses no pages.
    Call,
    /// Accepts both kinds of jobs, on a laptop.
    Both,
}

/// An engine in the operator's settings.
pub(crate) struct EngineSettings {
    pub engine: &'static dyn SearchEngine,
    pub url: Url,
    pub key: KeyLocation,
}

impl GatewaySettings {
    /// Reads the settings through `var`, a lookup of environment variables.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] for the first invalid variable.
    pub fn from_vars(var: VarLookup<'_>) -> Result<Self, InvalidSetting> {
        let role = match GATEWAY_ROLE.find_choice(var)? {
            Some("fetch") => GatewayRole::Fetch,
            Some("call") => GatewayRole::Call,
            Some(_) | None => GatewayRole::Both,
        };
        // A gateway for pages must not hold keys, because pages may be hostile.
        if role == GatewayRole::Fetch && SEARCH.find_text(var).is_some() {
            return Err(SEARCH.problem("is set for a gateway that reads pages: leave it out"));
        }
        if role == GatewayRole::Fetch && SEAL_KEY.find_text(var).is_some() {
            return Err(SEAL_KEY.problem("is set for a gateway that reads pages: leave it out"));
        }
        let engines = parse_engines(var)?.unwrap_or_default();
        let seal = parse_seal(var)?;
        Ok(Self { role, engines, seal, egress: parse_egress(var)?, folder: None })
    }

    /// Adds the configuration folder, read before a job unless the last read is within `fresh`. Engines of its
    /// `djinn.toml` replace those of the variables given to [`Self::from_vars`].
    #[must_use]
    pub fn with_folder(self, folder: ConfigurationFolder, fresh: Duration) -> Self {
        Self { folder: Some((folder, fresh)), ..self }
    }
}

/// Checks the engines of a configuration, for `Djinn::with_settings_check`.
///
/// # Errors
/// Returns [`InvalidSetting`] for the first invalid engine.
pub fn check_engines(var: VarLookup<'_>) -> Result<(), InvalidSetting> {
    parse_engines(var).map(drop)
}

/// Parses the engines; `None` if the setting is not set.
pub(crate) fn parse_engines(
    var: VarLookup<'_>,
) -> Result<Option<Vec<EngineSettings>>, InvalidSetting> {
    let Some(text) = SEARCH.find_text(var) else { return Ok(None) };
    let entries: Vec<WrittenEngine> =
        serde_json::from_str(&text).map_err(|_| SEARCH.refuse(&text))?;
    if !(1..=MAX_ENGINES).contains(&entries.len()) {
        return Err(SEARCH.refuse(&text));
    }
    entries.into_iter().map(|entry| parse_engine(entry, var)).collect::<Result<_, _>>().map(Some)
}

/// Parses the location of the keys that seal users' keys. A problem never repeats a key.
fn parse_seal(var: VarLookup<'_>) -> Result<KeyLocation, InvalidSetting> {
    let Some(text) = SEAL_KEY.find_text(var) else { return Ok(KeyLocation::None) };
    match text.trim().strip_prefix("secret:").map(str::trim) {
        Some("") => Err(SEAL_KEY.refuse_described("secret:")),
        Some(name) => Ok(KeyLocation::Stored(name.to_owned())),
        None => {
            let text = Secret::new(&text);
            SealKeys::parse(&text).map_err(|problem| SEAL_KEY.refuse_described(&problem))?;
            Ok(KeyLocation::Inline(text))
        }
    }
}

fn parse_egress(var: VarLookup<'_>) -> Result<EgressSettings, InvalidSetting> {
    let list = |text: Option<String>| -> Vec<String> {
        let text = text.unwrap_or_default();
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        items.map(str::to_owned).collect()
    };
    let ports = list(EGRESS_PORTS.find_text(var));
    let ports = ports.iter().map(|port| port.parse().ok().filter(|port| *port != 0));
    let ports: Option<BTreeSet<u16>> = ports.collect();
    let ports = ports.ok_or_else(|| EGRESS_PORTS.refuse("something else"))?;
    let origins = list(EGRESS_ORIGINS.find_text(var));
    let settings = EgressSettings::new(ports, &origins, LOCAL.read_switch(var)?);
    let settings =
        settings.map_err(|error| EGRESS_ORIGINS.problem(&format!("cannot be: {error}")))?;
    match var(RUNTIME_API) {
        Some(address) => settings
            .with_runtime_api(&address)
            .map_err(|error| InvalidSetting { name: RUNTIME_API, problem: error.to_string() }),
        None => Ok(settings),
    }
}

/// An engine as written in the setting.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenEngine {
    engine: String,
    url: Option<String>,
    key: Option<String>,
}

fn parse_engine(
    entry: WrittenEngine,
    var: VarLookup<'_>,
) -> Result<EngineSettings, InvalidSetting> {
    let engine = ENGINES.into_iter().find(|engine| engine.name() == entry.engine);
    let Some(engine) = engine else {
        let names: Vec<_> = ENGINES.iter().map(|engine| engine.name()).collect();
        return Err(SEARCH.problem(&format!("may name the engines {} only", names.join(", "))));
    };
    let name = engine.name();
    let problem = |problem: &str| SEARCH.problem(&format!("has an engine {name} {problem}"));
    let url = entry.url.as_deref().or(engine.service_url());
    let url = url.ok_or_else(|| problem("without `url`, which it needs"))?;
    let mut url = Url::parse(url)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| problem("whose `url` is no http or https URL"))?;
    if url.path() == "/" {
        url.set_path(engine.usual_path());
    }
    let key = match entry.key {
        Some(text) => parse_key(&text, var).ok_or_else(|| {
            problem("whose `key` is neither `secret:NAME` nor `env:NAME` of a variable that is set")
        })?,
        None if engine.needs_key() => return Err(problem("without `key`, which it needs")),
        None => KeyLocation::None,
    };
    Ok(EngineSettings { engine, url, key })
}

fn parse_key(text: &str, var: VarLookup<'_>) -> Option<KeyLocation> {
    match text.split_once(':')? {
        ("env", name) if !name.is_empty() => {
            let key = var(name).filter(|key| !key.trim().is_empty())?;
            Some(KeyLocation::Inline(Secret::new(&key)))
        }
        ("secret", name) if !name.is_empty() => Some(KeyLocation::Stored(name.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(vars: &[(&str, &str)]) -> Result<GatewaySettings, String> {
        let find = |name: &str| {
            let pair = vars.iter().find(|(found, _)| *found == name);
            pair.map(|(_, value)| (*value).to_owned())
        };
        GatewaySettings::from_vars(&find).map_err(|error| error.to_string())
    }

    fn search(engines: &str) -> Result<Vec<(&'static str, String, KeyLocation)>, String> {
        let settings = read(&[("DJINN_SEARCH__ENGINES", engines), ("KEY", "k1\n")])?;
        let engines = settings.engines.into_iter();
        Ok(engines.map(|it| (it.engine.name(), it.url.to_string(), it.key)).collect())
    }

    #[test]
    fn engines_are_asked_at_their_service_or_at_an_address_of_ones_own() {
        let found = search(
            r#"[{"engine": "tavily", "key": "env:KEY"},
                {"engine": "searxng", "url": "http://127.0.0.1:8080"},
                {"engine": "bing", "url": "https://bing.example/x/search", "key": "secret:djinn/tools/b"}]"#,
        );
        let expected = vec![
            (
                "tavily",
                "https://api.tavily.com/search".into(),
                KeyLocation::Inline(Secret::new("k1")),
            ),
            ("searxng", "http://127.0.0.1:8080/search".into(), KeyLocation::None),
            (
                "bing",
                "https://bing.example/x/search".into(),
                KeyLocation::Stored("djinn/tools/b".into()),
            ),
        ];
        assert_eq!(found, Ok(expected));
        assert!(read(&[]).unwrap().engines.is_empty());
    }

    #[test]
    fn what_is_wrong_with_an_engine_is_said_without_its_key() {
        let list =
            "DJINN_SEARCH__ENGINES must be a JSON list of 1 to 6 engines, got `another text`";
        for (engines, problem) in [
            ("tavily", list),
            ("[]", list),
            (r#"[{"engine": "tavily", "key": "env:KEY", "kye": 1}]"#, list),
            (
                r#"[{"engine": "google"}]"#,
                "DJINN_SEARCH__ENGINES may name the engines bing, brave, jina, searxng, serper, tavily only",
            ),
            (
                r#"[{"engine": "tavily"}]"#,
                "DJINN_SEARCH__ENGINES has an engine tavily without `key`, which it needs",
            ),
            (
                r#"[{"engine": "searxng"}]"#,
                "DJINN_SEARCH__ENGINES has an engine searxng without `url`, which it needs",
            ),
            (
                r#"[{"engine": "searxng", "url": "file:///etc"}]"#,
                "DJINN_SEARCH__ENGINES has an engine searxng whose `url` is no http or https URL",
            ),
            (
                r#"[{"engine": "brave", "key": "tvly-live-123"}]"#,
                "DJINN_SEARCH__ENGINES has an engine brave whose `key` is neither `secret:NAME` nor `env:NAME` \
                 of a variable that is set",
            ),
            (
                r#"[{"engine": "brave", "key": "env:NONE"}]"#,
                "DJINN_SEARCH__ENGINES has an engine brave whose `key` is neither `secret:NAME` nor `env:NAME` \
                 of a variable that is set",
            ),
        ] {
            assert_eq!(search(engines), Err(problem.to_owned()), "{engines}");
        }
        let seven = format!("[{}]", [r#"{"engine": "tavily", "key": "env:KEY"}"#; 7].join(","));
        assert_eq!(search(&seven), Err(list.to_owned()));
    }

    #[test]
    fn what_parses_pages_holds_no_key() {
        let engines = ("DJINN_SEARCH__ENGINES", r#"[{"engine": "brave", "key": "env:KEY"}]"#);
        let role = |role| read(&[("DJINN_GATEWAY_ROLE", role), engines, ("KEY", "k1")]);
        let problem = "DJINN_SEARCH__ENGINES is set for a gateway that reads pages: leave it out";
        assert_eq!(role("fetch").err(), Some(problem.to_owned()));
        let seal = ("DJINN_SEAL_KEY", "secret:seal");
        let problem = "DJINN_SEAL_KEY is set for a gateway that reads pages: leave it out";
        assert_eq!(read(&[("DJINN_GATEWAY_ROLE", "fetch"), seal]).err().as_deref(), Some(problem));
        assert_eq!(read(&[seal]).unwrap().seal, KeyLocation::Stored("seal".to_owned()));
        for wrong in ["secret: ", "short-and-secret"] {
            let problem = read(&[("DJINN_SEAL_KEY", wrong)]).err().unwrap();
            assert!(
                problem.starts_with("DJINN_SEAL_KEY must be keys of at least 32 bytes"),
                "{problem}"
            );
            assert!(!problem.contains("short-and"), "{problem}");
        }
        assert_eq!(role("call").map(|settings| settings.role), Ok(GatewayRole::Call));
        assert_eq!(read(&[]).map(|settings| settings.role), Ok(GatewayRole::Both));
        let other = role("both").err();
        assert_eq!(other.as_deref(), Some("DJINN_GATEWAY_ROLE must be fetch or call, got `both`"));
    }

    #[test]
    fn this_machine_is_reached_on_a_laptop_only() {
        let origins = ("DJINN_EGRESS_ORIGINS", "http://127.0.0.1:8080, http://[::1]:8081");
        assert!(read(&[origins, ("DJINN_LOCAL", "1")]).is_ok());
        for (vars, problem) in [
            (vec![origins], "on a laptop only"),
            (vec![("DJINN_EGRESS_ORIGINS", "http://10.0.0.1"), ("DJINN_LOCAL", "1")], "10.0.0.1"),
            (vec![("DJINN_EGRESS_PORTS", "8080,x")], "DJINN_EGRESS_PORTS must be ports"),
            (vec![("DJINN_EGRESS_PORTS", "0")], "DJINN_EGRESS_PORTS must be ports"),
        ] {
            let found = read(&vars).err().unwrap();
            assert!(found.contains(problem), "{found}");
        }
        assert!(read(&[("DJINN_EGRESS_PORTS", "8080, 8443")]).is_ok());
    }
}
