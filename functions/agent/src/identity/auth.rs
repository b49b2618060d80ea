//! `DJINN_AUTH`: the method of identifying callers.

use djinn_settings::table::agent::{API_KEYS, AUTH, IAM_USER};
use djinn_settings::{InvalidSetting, VarLookup};

use super::api_key::KeyHolder;
use super::token::TokenSettings;

/// The method of identifying callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// By signatures verified by AWS: the account is the tenant, and the configured part of the ARN is the
    /// user.
    Iam(IamUser),
    /// By API keys.
    Key(KeyList),
    /// By tokens of an external issuer.
    Jwt(TokenSettings),
    /// No identification: on a laptop all callers are the same user.
    None,
}

/// The part of a role session's ARN that identifies a user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IamUser {
    /// The role: all sessions of the role are the same user.
    Role,
    /// The role and the session name, which is the user's name with Identity Center.
    #[default]
    Session,
}

/// The location of the list of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyList {
    /// The list in the setting itself.
    Inline(Vec<KeyHolder>),
    /// The name of a secret with the list.
    Secret(String),
}

impl Auth {
    /// Reads `DJINN_AUTH`, and `DJINN_IAM_USER` for `iam`, `DJINN_API_KEYS` for `key`, `DJINN_JWT_…` for
    /// `jwt`. The default is `iam`, and `none` on a laptop. `none` is allowed only on a laptop.
    pub(crate) fn from_vars(var: VarLookup<'_>, local: bool) -> Result<Self, InvalidSetting> {
        if local && AUTH.find_text(var).is_none() {
            return Ok(Self::None);
        }
        match (AUTH.find_choice(var), local) {
            (Ok(Some("none")), true) => Ok(Self::None),
            (Ok(Some("none")), false) => {
                let expectation =
                    "iam, key or jwt where DJINN_LOCAL is not 1, or everybody may do everything";
                Err(AUTH.refuse_for(expectation, "none"))
            }
            (Ok(Some("key")), _) => {
                let text = API_KEYS.find_text(var).unwrap_or_default();
                let list = match text.trim().strip_prefix("secret:").map(str::trim) {
                    Some("") => Err("secret:".to_owned()),
                    Some(name) => Ok(KeyList::Secret(name.to_owned())),
                    None => parse_key_holders(&text).map(KeyList::Inline),
                };
                list.map(Self::Key).map_err(|place| API_KEYS.refuse_described(&place))
            }
            (Ok(Some("jwt")), _) => TokenSettings::from_vars(var, local).map(Self::Jwt),
            (Ok(_), _) => {
                let is_role = IAM_USER.find_choice(var)? == Some("role");
                Ok(Self::Iam(if is_role { IamUser::Role } else { IamUser::Session }))
            }
            (Err(error), true) => Err(error),
            (Err(_), false) => {
                let value = AUTH.find_text(var).unwrap_or_default();
                Err(AUTH.refuse_for("iam, key or jwt", &value))
            }
        }
    }
}

/// Parses a list of key hashes and holders. Errors contain only the position, because the text may contain a
/// key by mistake.
pub(super) fn parse_key_holders(text: &str) -> Result<Vec<KeyHolder>, String> {
    serde_json::from_str(text).map_err(|error| {
        format!("something else at line {} column {}", error.line(), error.column())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::api_key::{KeyHash, format_key};
    use djinn_core::id::{TenantId, UserId};

    fn auth(vars: &[(&str, &str)], local: bool) -> Result<Auth, String> {
        let var = |name: &str| {
            let found = vars.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Auth::from_vars(&var, local).map_err(|error| error.to_string())
    }

    fn by_session() -> Auth {
        Auth::Iam(IamUser::Session)
    }

    #[test]
    fn a_role_is_one_user_only_where_that_is_asked_for() {
        let set = |value| auth(&[("DJINN_AUTH", "iam"), ("DJINN_IAM_USER", value)], false);
        assert_eq!((set(""), set("session")), (Ok(by_session()), Ok(by_session())));
        assert_eq!(set("role"), Ok(Auth::Iam(IamUser::Role)));
        let refused = "DJINN_IAM_USER must be session or role, got `person`";
        assert_eq!(set("person"), Err(refused.to_owned()));
    }

    #[test]
    fn without_a_word_it_is_iam_and_none_on_a_laptop_only() {
        for unset in [&[][..], &[("DJINN_AUTH", "")]] {
            assert_eq!((auth(unset, false), auth(unset, true)), (Ok(by_session()), Ok(Auth::None)));
        }
        let set = |value, local| auth(&[("DJINN_AUTH", value)], local);
        assert_eq!((set("iam", false), set("iam", true)), (Ok(by_session()), Ok(by_session())));
        assert_eq!(set("none", true), Ok(Auth::None));
        let refused = set("none", false).unwrap_err();
        assert!(refused.starts_with("DJINN_AUTH must be iam"), "{refused}");
        assert!(refused.contains("DJINN_LOCAL"), "{refused}");
        for wrong in ["NONE", "off", "basic"] {
            for local in [true, false] {
                assert!(set(wrong, local).unwrap_err().starts_with("DJINN_AUTH must be iam"));
            }
        }
    }

    #[test]
    fn tokens_need_to_be_told_apart_from_others() {
        let jwt = ("DJINN_AUTH", "jwt");
        let alone = auth(&[jwt], false).unwrap_err();
        assert!(alone.starts_with("DJINN_JWT_ISSUER must be"), "{alone}");
        let vars = [jwt, ("DJINN_JWT_ISSUER", "https://issuer"), ("DJINN_JWT_AUDIENCE", "djinn")];
        for local in [true, false] {
            assert!(matches!(auth(&vars, local), Ok(Auth::Jwt(_))));
        }
    }

    #[test]
    fn keys_are_given_or_in_a_secret_and_a_wrong_list_is_not_repeated() {
        let set = |list| auth(&[("DJINN_AUTH", "key"), ("DJINN_API_KEYS", list)], false);
        let stored = Auth::Key(KeyList::Secret("djinn/keys".to_owned()));
        assert_eq!(set("secret:djinn/keys"), Ok(stored));
        assert_eq!(set("[]"), Ok(Auth::Key(KeyList::Inline(Vec::new()))));
        let key = format_key(&[1; 32]);
        let holder = KeyHolder {
            sha256: KeyHash::of(&key).unwrap(),
            tenant: TenantId::new("acme").unwrap(),
            user: UserId::new("anna").unwrap(),
        };
        let list = serde_json::to_string(&[&holder]).unwrap();
        assert_eq!(set(&list), Ok(Auth::Key(KeyList::Inline(vec![holder]))));
        let itself = list.replace("sha256\":\"", &format!("sha256\":\"{key}"));
        let bare = format!("[\"{key}\"]");
        for wrong in ["", "secret:", "{}", "[{}]", itself.as_str(), bare.as_str(), key.as_str()] {
            let error = set(wrong).unwrap_err();
            assert!(error.starts_with("DJINN_API_KEYS must be a JSON list"), "{error}");
            assert!(!error.contains(&key), "{error}");
        }
    }
}
