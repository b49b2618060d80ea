//! Connections, with TLS unless the server is this machine.

use std::sync::Arc;
use std::time::Duration;

use djinn_core::time_zone::TimeZone;
use djinn_runtime::port::database::{DatabaseConnection, DatabaseError};
use djinn_runtime::port::secret::Secret;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio::task::JoinHandle;
use tokio_postgres::config::{ChannelBinding, SslMode};
use tokio_postgres::{Client, Config, NoTls, Transaction};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::failure;

/// Maximum time of a connection and its login.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time of the statements that begin or end a transaction. A connection that was kept may have ended silently.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum wait for a lock, in milliseconds.
const LOCK_TIMEOUT_MS: u32 = 2_000;

/// A client with the task that moves its bytes; dropping it closes the connection.
pub(crate) struct OpenConnection {
    client: Client,
    task: JoinHandle<()>,
    /// True unless a transaction began and did not end.
    is_clean: bool,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl OpenConnection {
    /// Connects and logs in.
    ///
    /// # Errors
    /// Returns [`DatabaseError::Unavailable`] or [`DatabaseError::Rejected`].
    pub(crate) async fn open(
        connection: &DatabaseConnection,
        password: &Secret,
    ) -> Result<Self, DatabaseError> {
        let mut config = Config::new();
        config
            .host(&connection.host)
            .port(connection.port)
            .dbname(&connection.database)
            .user(&connection.user)
            .password(password.reveal())
            .application_name("djinn")
            .connect_timeout(CONNECT_TIMEOUT);
        let opening = async {
            match &connection.ca {
                Some(ca) => {
                    config.ssl_mode(SslMode::Require).channel_binding(ChannelBinding::Prefer);
                    let tls = MakeRustlsConnect::new(trust(ca)?);
                    let (client, io) = config.connect(tls).await.map_err(failure::of_login)?;
                    let task = tokio::spawn(async { drop(io.await) });
                    Ok(Self { client, task, is_clean: true })
                }
                None => {
                    config.ssl_mode(SslMode::Disable);
                    let (client, io) = config.connect(NoTls).await.map_err(failure::of_login)?;
                    let task = tokio::spawn(async { drop(io.await) });
                    Ok(Self { client, task, is_clean: true })
                }
            }
        };
        // The client's own timeout does not cover the handshake and the login.
        let opened = tokio::time::timeout(CONNECT_TIMEOUT * 2, opening).await;
        opened.unwrap_or_else(|_| {
            tracing::warn!("a database does not answer");
            Err(DatabaseError::Unavailable)
        })
    }

    /// Begins a transaction that cannot write, with limits, and without names of schemas.
    ///
    /// # Errors
    /// Returns [`DatabaseError`].
    pub(crate) async fn begin(
        &mut self,
        time_zone: TimeZone,
        timeout_ms: u32,
    ) -> Result<Transaction<'_>, DatabaseError> {
        self.is_clean = false;
        let zone = time_zone.as_str();
        let settings = format!(
            "SET LOCAL search_path = ''; SET LOCAL statement_timeout = {timeout_ms}; \
             SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}; \
             SET LOCAL idle_in_transaction_session_timeout = {timeout_ms}; \
             SET LOCAL standard_conforming_strings = on; SET LOCAL DateStyle = 'ISO'; \
             SET LOCAL TimeZone = '{zone}'"
        );
        let begin = self.client.build_transaction().read_only(true).start();
        let begin = async {
            let transaction = begin.await?;
            transaction.batch_execute(&settings).await?;
            Ok(transaction)
        };
        match tokio::time::timeout(TRANSACTION_TIMEOUT, begin).await {
            Ok(transaction) => transaction.map_err(|error| failure::of_statement(&error, 0)),
            Err(_) => {
                tracing::warn!("a database does not begin a transaction");
                Err(DatabaseError::Unavailable)
            }
        }
    }

    /// Records if the last transaction has ended, so that the connection can have another one.
    pub(crate) fn set_clean(&mut self, is_clean: bool) {
        self.is_clean = is_clean;
    }

    /// Returns true if the connection can have another transaction.
    pub(crate) fn is_usable(&self) -> bool {
        self.is_clean && !self.client.is_closed()
    }
}

/// Ends a transaction. Returns true if the server has confirmed it.
pub(crate) async fn end_transaction(transaction: Transaction<'_>) -> bool {
    let ended = tokio::time::timeout(TRANSACTION_TIMEOUT, transaction.rollback()).await;
    ended.is_ok_and(|ended| ended.is_ok())
}

/// Returns the settings of TLS that trust these authorities alone. The name of the host is verified.
fn trust(ca: &str) -> Result<ClientConfig, DatabaseError> {
    let unusable = |reason: String| {
        tracing::warn!(reason, "the certificate authorities of a database are unusable");
        DatabaseError::Unavailable
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca.as_bytes()) {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
