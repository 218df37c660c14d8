//! The client of a store, with the settings of the environment.

use std::env;
use std::sync::{Arc, Once};
use std::time::Duration;

use nnx_checkpoint::Result;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};

use crate::error::from_store;
use crate::url::Scheme;

/// Attempts after the first one.
const RETRIES: usize = 5;
/// The time within which a request is tried again.
const RETRY_TIME: Duration = Duration::from_secs(60);
/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The client for a bucket, a container or a host. Credentials, regions and endpoints are those of
/// the variables `AWS_*`, `GOOGLE_*` and `AZURE_*`.
///
/// # Errors
/// When a setting cannot be used, or one is missing.
pub(crate) fn client(scheme: Scheme, root: &str) -> Result<Arc<dyn ObjectStore>> {
    use_ring();
    match scheme {
        Scheme::S3 => s3(root),
        Scheme::Gcs => build(
            GoogleCloudStorageBuilder::from_env()
                .with_url(root)
                .with_retry(retry())
                .build(),
        ),
        Scheme::Azure => azure(root),
        Scheme::Http | Scheme::File => build(
            HttpBuilder::new()
                .with_url(root)
                .with_client_options(ClientOptions::new().with_allow_http(true))
                .with_retry(retry())
                .build(),
        ),
    }
}

fn s3(root: &str) -> Result<Arc<dyn ObjectStore>> {
    let mut builder = AmazonS3Builder::from_env()
        .with_url(root)
        .with_retry(retry());
    let endpoints = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];
    if endpoints.into_iter().any(is_plain_http) {
        builder = builder.with_config(
            AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp),
            "true",
        );
    }
    if env::var_os("AWS_REGION").is_none()
        && let Ok(region) = env::var("AWS_DEFAULT_REGION")
    {
        builder = builder.with_region(region);
    }
    // The store compares each part with it, so a completed object has the bytes that were sent.
    if env::var_os("AWS_CHECKSUM_ALGORITHM").is_none() {
        builder = builder.with_checksum_algorithm(Checksum::SHA256);
    }
    build(builder.build())
}

fn azure(root: &str) -> Result<Arc<dyn ObjectStore>> {
    let mut builder = MicrosoftAzureBuilder::from_env()
        .with_url(root)
        .with_retry(retry());
    if ["AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"]
        .into_iter()
        .any(is_plain_http)
    {
        builder = builder.with_config(AzureConfigKey::Client(ClientConfigKey::AllowHttp), "true");
    }
    build(builder.build())
}

/// Whether a variable has an address without TLS: whoever sets it wants that.
fn is_plain_http(variable: &str) -> bool {
    env::var(variable).is_ok_and(|url| url.starts_with("http://"))
}

fn build<S: ObjectStore>(built: object_store::Result<S>) -> Result<Arc<dyn ObjectStore>> {
    match built {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => Err(from_store(&error)),
    }
}

fn retry() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            max_backoff: LONGEST_WAIT,
            ..BackoffConfig::default()
        },
        max_retries: RETRIES,
        retry_timeout: RETRY_TIME,
    }
}

/// TLS computes with ring, as the client of the Hub does; another choice of the program stays.
fn use_ring() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
