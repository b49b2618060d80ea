//! The real store against the embedded DynamoDB and S3, over HTTP.

mod chain;
mod fault;
mod forget;
mod load;
mod presign;
mod proxy;
mod request;
mod restart;
mod sample;
mod signed;
mod text_folder;

use djinn_aws::{Aws, AwsStore};
use djinn_local::{Stores, StoresOptions};

/// An empty store in memory, and what keeps it alive.
fn fresh() -> (Stores, AwsStore) {
    let (stores, aws) = fresh_aws();
    (stores, aws.store())
}

fn fresh_aws() -> (Stores, Aws) {
    let stores = Stores::start(StoresOptions::default()).unwrap();
    let aws = Aws::new(stores.settings().clone());
    (stores, aws)
}

mod contract {
    djinn_testkit::contract_tests!(crate::store::fresh());
}

/// The same promises where the reply to the first attempt of every request is lost.
mod contract_with_lost_replies {
    djinn_testkit::contract_tests!(crate::store::fault::behind(
        crate::store::fault::loses_first_replies
    ));
}

/// The same promises where every query's page holds one item.
mod contract_with_small_pages {
    djinn_testkit::contract_tests!(crate::store::fault::behind(crate::store::fault::small_pages));
}
