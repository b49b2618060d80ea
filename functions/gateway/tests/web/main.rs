//! The gateway over real sockets: a site with everything that sites do, and servers that speak as engines do.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod engines;
mod pages;
mod robots;
mod servers;
mod site;
mod tools;
mod user_keys;

use djinn_runtime::port::SessionKey;
use djinn_runtime::port::outside::{
    Outside, OutsideContext, PageAnswer, PageOutcome, PageProblem, PageTarget, PageText, ReadJob,
};
use djinn_runtime::port::secret::NoSecrets;
use gateway::{GatewaySettings, LocalGateway};

use site::Site;

/// The settings of a gateway on a laptop that may reach these sites.
fn settings(sites: &[&Site], engines: Option<String>) -> GatewaySettings {
    let origins: Vec<_> = sites.iter().map(|site| site.origin()).collect();
    let origins = origins.join(",");
    let var = move |name: &str| match name {
        "DJINN_LOCAL" => Some("1".to_owned()),
        "DJINN_EGRESS_ORIGINS" => Some(origins.clone()),
        "DJINN_SEARCH__ENGINES" => engines.clone(),
        "ENGINE_KEY" => Some("k1".to_owned()),
        _ => None,
    };
    GatewaySettings::from_vars(&var).unwrap()
}

fn gateway_to(sites: &[&Site]) -> LocalGateway<NoSecrets> {
    LocalGateway::new(settings(sites, None), NoSecrets).unwrap()
}

fn context() -> OutsideContext {
    let session = SessionKey {
        tenant: "t".to_owned().try_into().unwrap(),
        owner: "u".to_owned().try_into().unwrap(),
        session: "s".to_owned().try_into().unwrap(),
    };
    let user = session.owner.clone();
    OutsideContext { session, user }
}

async fn read_all(gateway: &impl Outside, pages: Vec<PageTarget>) -> Vec<PageAnswer> {
    gateway.read_pages(&context(), ReadJob { pages }).await.unwrap()
}

async fn read_one(gateway: &impl Outside, url: String) -> PageOutcome {
    read_all(gateway, vec![PageTarget::new(url)]).await.remove(0).outcome
}

fn text_of(outcome: PageOutcome) -> PageText {
    let PageOutcome::Page(page) = outcome else { panic!("{outcome:?}") };
    page
}

fn problem_of(outcome: PageOutcome) -> PageProblem {
    let PageOutcome::Refused(problem) = outcome else { panic!("{outcome:?}") };
    problem
}
