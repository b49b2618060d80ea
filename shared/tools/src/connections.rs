//! The connections of `djinn.toml` to databases.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use djinn_runtime::port::database::{DatabaseConnection, DatabasePassword};
use djinn_runtime::port::secret::Secret;
use djinn_runtime::port::text_folder::{CONNECTIONS as AUTHORITIES, FolderText};
use djinn_settings::table::tools::CONNECTIONS;
use djinn_settings::{InvalidSetting, VarLookup};
use serde::Deserialize;

/// The port of PostgreSQL.
const PORT: u16 = 5432;

/// Maximum characters of a connection's name.
const MAX_NAME: usize = 60;

/// The beginning of the names of secrets with passwords, which alone the function for databases may read.
const SECRETS: &str = "djinn/data/";

/// Maximum characters of a secret's name.
const MAX_SECRET: usize = 512;

/// Connections by name.
pub type Connections = BTreeMap<String, Arc<DatabaseConnection>>;

/// The fields of a connection.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConnectionFields {
    host: String,
    #[serde(default = "default_port")]
    port: u16,
    database: String,
    user: String,
    password: String,
    ca: Option<String>,
}

fn default_port() -> u16 {
    PORT
}

/// Reads the connections. The passwords are variables, and the certificate authorities are among the texts of the
/// configuration folder.
///
/// # Errors
/// Returns [`InvalidSetting`] for the first invalid connection. The text has no password.
pub fn read_connections(
    var: VarLookup<'_>,
    texts: &[FolderText],
) -> Result<Connections, InvalidSetting> {
    let Some(text) = CONNECTIONS.find_text(var) else { return Ok(Connections::default()) };
    let fields: BTreeMap<String, serde_json::Value> = serde_json::from_str(&text)
        .map_err(|_| CONNECTIONS.problem("must be a table for each connection"))?;
    let parse = |(name, value): (String, serde_json::Value)| {
        let connection = read_connection(&name, value, var, texts);
        let connection =
            connection.map_err(|problem| CONNECTIONS.problem(&format!("`{name}` {problem}")));
        Ok((name, Arc::new(connection?)))
    };
    fields.into_iter().map(parse).collect()
}

fn read_connection(
    name: &str,
    value: serde_json::Value,
    var: VarLookup<'_>,
    texts: &[FolderText],
) -> Result<DatabaseConnection, String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if !(1..=MAX_NAME).contains(&name.len()) || !name.chars().all(is_allowed) {
        return Err("is no name: 1 to 60 letters, digits, _ and - are expected".to_owned());
    }
    let fields: ConnectionFields =
        serde_json::from_value(value).map_err(|error| describe_fields(&error.to_string()))?;
    let ConnectionFields { host, port, database, user, password, ca } = fields;
    for (field, text) in [("host", &host), ("database", &database), ("user", &user)] {
        if text.trim() != *text || text.is_empty() || text.contains('\0') {
            return Err(format!("has no text as `{field}`"));
        }
    }
    if host.contains(['/', ',', ' ', '@']) {
        return Err("must have the name of one host as `host`".to_owned());
    }
    Ok(DatabaseConnection {
        ca: read_authority(&host, ca.as_deref(), texts)?,
        password: read_password(&password, var)?,
        host,
        port,
        database,
        user,
    })
}

/// Returns the sentence of a wrong field without its value, which may be a password.
fn describe_fields(error: &str) -> String {
    let quoted: Vec<&str> = error.split('`').skip(1).step_by(2).collect();
    match (error.split(' ').next(), quoted.first()) {
        (Some("missing"), Some(field)) => format!("has no `{field}`"),
        (Some("unknown"), Some(field)) => format!(
            "has the unknown field `{field}`: there are host, port, database, user, password and ca"
        ),
        _ => "has a field of a wrong type: texts are expected, and a number as `port`".to_owned(),
    }
}

fn read_password(password: &str, var: VarLookup<'_>) -> Result<DatabasePassword, String> {
    if password == "iam" {
        return Ok(DatabasePassword::Iam);
    }
    if let Some(name) = password.strip_prefix("secret:") {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "/_+=.@-".contains(c);
        let is_allowed = name.strip_prefix(SECRETS).is_some_and(|name| !name.is_empty());
        return if is_allowed && name.len() <= MAX_SECRET && name.chars().all(is_name) {
            Ok(DatabasePassword::Stored(name.to_owned()))
        } else {
            Err(format!("names a secret as `password` that does not begin with {SECRETS}"))
        };
    }
    let Some(variable) = password.strip_prefix("env:") else {
        return Err(format!(
            "must have `secret:{SECRETS}NAME`, `iam` or, on a laptop, `env:NAME` of a variable as `password`"
        ));
    };
    let value = var(variable).filter(|value| !value.trim().is_empty());
    value
        .map(|value| DatabasePassword::Inline(Secret::new(&value)))
        .ok_or_else(|| format!("names the variable {variable} as `password`, which is not set"))
}

fn read_authority(
    host: &str,
    ca: Option<&str>,
    texts: &[FolderText],
) -> Result<Option<String>, String> {
    let Some(ca) = ca else {
        let is_local = host == "localhost"
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        let problem = "has no `ca`: a host besides localhost needs the certificate authority";
        return if is_local { Ok(None) } else { Err(problem.to_owned()) };
    };
    let path = format!("{}/{ca}", AUTHORITIES.name);
    match texts.iter().find(|text| text.name == path).map(|text| &text.text) {
        Some(Ok(pem)) if pem.contains("-----BEGIN CERTIFICATE-----") => Ok(Some(pem.to_string())),
        Some(Ok(_)) => Err(format!("names {path} as `ca`, which has no certificate in PEM")),
        Some(Err(rule)) => Err(format!("names {path} as `ca`, which {rule}")),
        None => Err(format!("names {path} as `ca`, which is missing")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(fields: &serde_json::Value) -> Result<Connections, String> {
        let text = json!({"shop": fields}).to_string();
        let var = move |name: &str| match name {
            "DJINN_CONNECTIONS" => Some(text.clone()),
            "PASSWORD" => Some("geheim-4711".to_owned()),
            _ => None,
        };
        let pem = |name: &str, text: &str| FolderText {
            name: format!("connections/{name}"),
            text: Ok(text.into()),
        };
        let texts = [pem("a.pem", "-----BEGIN CERTIFICATE-----"), pem("b.pem", "nothing")];
        read_connections(&var, &texts).map_err(|error| error.to_string())
    }

    fn fields() -> serde_json::Value {
        json!({"host": "db.example", "database": "d", "user": "u", "password": "env:PASSWORD",
            "ca": "a.pem"})
    }

    #[test]
    fn a_connection_has_a_password_of_a_variable_and_an_authority() {
        let connections = read(&fields()).unwrap();
        let shop = &connections["shop"];
        assert_eq!(
            (shop.port, &shop.password, shop.ca.is_some()),
            (5432, &DatabasePassword::Inline(Secret::new("geheim-4711")), true)
        );
        for (password, expected) in [
            ("secret:djinn/data/shop", DatabasePassword::Stored("djinn/data/shop".to_owned())),
            ("iam", DatabasePassword::Iam),
        ] {
            let mut other = fields();
            other["password"] = json!(password);
            assert_eq!(read(&other).unwrap()["shop"].password, expected);
        }
        for host in ["localhost", "127.0.0.1", "::1"] {
            let mut local = fields();
            local["host"] = json!(host);
            local.as_object_mut().unwrap().remove("ca");
            assert_eq!(read(&local).unwrap()["shop"].ca, None);
        }
    }

    #[test]
    fn a_wrong_connection_has_a_sentence_without_its_password() {
        let cases = [
            (json!({"host": ""}), "`shop` has no text as `host`"),
            (json!({"host": "a,b"}), "must have the name of one host"),
            (json!({"host": "postgres://a"}), "must have the name of one host"),
            (json!({"host": 7}), "a field of a wrong type"),
            (json!({"port": 70_000}), "a field of a wrong type"),
            (json!({"user": null}), "a field of a wrong type"),
            (json!({"password": "geheim-4711"}), "must have `secret:djinn/data/NAME`, `iam` or"),
            (json!({"password": "secret:djinn/run/openai"}), "does not begin with djinn/data/"),
            (json!({"password": "secret:djinn/data/"}), "does not begin with djinn/data/"),
            (json!({"password": "secret:djinn/data/a b"}), "does not begin with djinn/data/"),
            (json!({"password": "env:OTHER"}), "names the variable OTHER as `password`, which is"),
            (json!({"ca": "c.pem"}), "names connections/c.pem as `ca`, which is missing"),
            (json!({"ca": "b.pem"}), "names connections/b.pem as `ca`, which has no certificate"),
            (json!({"ca": null}), "has no `ca`: a host besides localhost needs"),
            (json!({"hots": "a"}), "the unknown field `hots`: there are host, port"),
        ];
        for (changes, says) in cases {
            let mut wrong = fields();
            for (name, value) in changes.as_object().unwrap() {
                wrong[name] = value.clone();
            }
            let error = read(&wrong).unwrap_err();
            assert!(error.contains(says) && !error.contains("4711"), "{says}: {error}");
        }
        assert!(read(&json!({"host": "a"})).unwrap_err().contains("`shop` has no `database`"));
        assert!(read(&json!(7)).unwrap_err().contains("a field of a wrong type"));
    }
}
