//! Parses the query parameters of a URL.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::api_error::ApiError;
use crate::fields::field_error;

/// The query parameters of one of Djinn's own routes. Unknown and repeated parameters are rejected.
pub(crate) struct UrlQuery<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for UrlQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let pairs = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let query = serde_path_to_error::deserialize(serde_urlencoded::Deserializer::new(pairs));
        query.map(Self).map_err(|error| field_error(&error, "parameter"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;
    use djinn_core::status::RunStatus;
    use djinn_protocol::request::{NoParameters, RunListQuery};
    use djinn_runtime::port::catalog::RunPosition;
    use futures::FutureExt as _;

    fn parse<T: DeserializeOwned>(query: &str) -> Result<T, (String, String)> {
        let request = Request::builder().uri(format!("/runs?{query}")).body(()).unwrap();
        let mut parts = request.into_parts().0;
        let result = UrlQuery::from_request_parts(&mut parts, &()).now_or_never().unwrap();
        result
            .map(|UrlQuery(query)| query)
            .map_err(|error| (error.field().unwrap_or_default().to_owned(), error.failure.detail))
    }

    #[test]
    fn an_empty_parameter_counts_as_absent() {
        for query in ["", "limit=&cursor=&status=", "&&"] {
            let RunListQuery::<RunPosition> { limit, after, status } = parse(query).unwrap();
            assert_eq!((limit, after, status), (20, None, None), "{query}");
        }
        let RunListQuery::<RunPosition> { limit, after, status } =
            parse("limit=100&cursor=5.run_00000000000000000000000000000000&status=paused").unwrap();
        assert_eq!((limit, status), (100, Some(RunStatus::Paused)));
        assert_eq!(after.map(|position| position.started_at_ms), Some(5));
    }

    #[test]
    fn an_invalid_parameter_is_named() {
        let unknown = "`limt` has no effect here (did you mean `limit`?): the parameters are \
                       status, limit, cursor";
        let status = "`status` must be one of queued, running, paused, finished, failed, stopped";
        for (query, field, sentence) in [
            ("limit=0", "limit", "`limit` must be a whole number from 1 to 100"),
            ("limit=x", "limit", "`limit` must be a whole number from 1 to 100"),
            ("cursor=5", "cursor", "`cursor` must be the `next` of the previous page"),
            ("status=Paused", "status", status),
            ("limt=", "limt", unknown),
            ("limit=1&%6Cimit=2", "", "the request has the same parameter twice; send one"),
        ] {
            let error = (field.to_owned(), sentence.to_owned());
            assert_eq!(parse::<RunListQuery<RunPosition>>(query).err(), Some(error), "{query}");
        }
        let error = parse::<NoParameters>("q=1").err().unwrap_or_default();
        assert_eq!(error.1, "`q` has no effect here: this takes no parameters");
    }
}
