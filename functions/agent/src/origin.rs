//! The public origin of the agent, for links.

use axum::http::header::HOST;
use axum::http::request::Parts;
use lambda_http::request::RequestContext;

use crate::settings::Settings;

/// Returns the origin of a request. On Lambda, the domain comes from AWS's event, so no client can forge the
/// domain. On a laptop, the domain comes from the `Host` header.
pub(crate) fn request_origin(parts: &Parts, settings: &Settings) -> String {
    if let Some(url) = &settings.public_url {
        return url.clone();
    }
    if settings.local {
        let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
        return format!("http://{}", host.unwrap_or("127.0.0.1:9000"));
    }
    match parts.extensions.get::<RequestContext>() {
        Some(RequestContext::ApiGatewayV1(context)) => {
            let domain = context.domain_name.as_deref().unwrap_or_default();
            let stage = context.stage.as_deref().unwrap_or_default();
            // A custom domain maps the stage away; API Gateway's own domain needs the stage in the path.
            let has_stage = domain.contains(".execute-api.") && !stage.is_empty();
            if has_stage {
                format!("https://{domain}/{stage}")
            } else {
                format!("https://{domain}")
            }
        }
        Some(RequestContext::ApiGatewayV2(context)) => {
            format!("https://{}", context.domain_name.as_deref().unwrap_or_default())
        }
        _ => String::new(),
    }
}
