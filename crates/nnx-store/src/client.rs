//! The client of a store, with the settings of the environment.

use std::env;
use std::sync::{Arc, Once};
use std::time::Duration;

use nnx_checkpoint::Result;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};

use crate::error::{failed, from_store};
use crate::url::Scheme;

/// Attempts after the first one.
const RETRIES: usize = 5;
/// The time within which a request is tried again.
const RETRY_TIME: Duration = Duration::from_secs(60);
/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The longest time of a request. A slow link needs minutes for a part, so silence ends a request
/// and not its length.
const REQUEST_TIME: &str = "1 day";

/// The requests that a client is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Reads,
    Uploads,
}

impl Purpose {
    /// The longest silence of a server. A server is silent while it receives a part, so this is the
    /// longest time of a part as well.
    fn silence(self) -> &'static str {
        match self {
            Self::Reads => "30 seconds",
            Self::Uploads => "1 hour",
        }
    }

    /// The time limits that the environment does not set with variables of this prefix.
    fn time_limits(self, prefix: &str) -> impl Iterator<Item = (ClientConfigKey, &'static str)> {
        let limits = [
            ("TIMEOUT", ClientConfigKey::Timeout, REQUEST_TIME),
            ("READ_TIMEOUT", ClientConfigKey::ReadTimeout, self.silence()),
        ];
        limits
            .into_iter()
            .filter(move |(name, ..)| env::var_os(format!("{prefix}{name}")).is_none())
            .map(|(_, key, time)| (key, time))
    }
}

/// The client for a bucket, a container or a host. Credentials, regions and endpoints are those of
/// the variables `AWS_*`, `GOOGLE_*` and `AZURE_*`.
///
/// # Errors
/// When a setting cannot be used, or one is missing; and for a path on the disk.
pub(crate) fn client(scheme: Scheme, root: &str, purpose: Purpose) -> Result<Arc<dyn ObjectStore>> {
    use_ring();
    match scheme {
        Scheme::S3 => build(s3(root, purpose).build()),
        Scheme::Gcs => build(gcs(root, purpose).build()),
        Scheme::Azure => build(azure(root, purpose).build()),
        Scheme::Http => build(http(root, purpose).build()),
        Scheme::File => Err(failed(
            "expected a URL of a store, found a `file://` URL, which is a path on the disk; open it \
             with `StoreLocation`, or give the path to `LocalFolder`",
        )),
    }
}

fn http(root: &str, purpose: Purpose) -> HttpBuilder {
    let mut options = ClientOptions::new().with_allow_http(true);
    for (key, time) in purpose.time_limits("") {
        options = options.with_config(key, time);
    }
    HttpBuilder::new()
        .with_url(root)
        .with_client_options(options)
        .with_retry(retry())
}

fn gcs(root: &str, purpose: Purpose) -> GoogleCloudStorageBuilder {
    let mut builder = GoogleCloudStorageBuilder::from_env()
        .with_url(root)
        .with_retry(retry());
    for (key, time) in purpose.time_limits("GOOGLE_") {
        builder = builder.with_config(GoogleConfigKey::Client(key), time);
    }
    builder
}

fn s3(root: &str, purpose: Purpose) -> AmazonS3Builder {
    let mut builder = AmazonS3Builder::from_env()
        .with_url(root)
        .with_retry(retry());
    for (key, time) in purpose.time_limits("AWS_") {
        builder = builder.with_config(AmazonS3ConfigKey::Client(key), time);
    }
    let endpoints = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];
    if endpoints.into_iter().any(is_plain_http) {
        builder = builder.with_config(
            AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp),
            "true",
        );
    }
    // The store compares each part with it, so a completed object has the bytes that were sent.
    if env::var_os("AWS_CHECKSUM_ALGORITHM").is_none() {
        builder = builder.with_checksum_algorithm(Checksum::SHA256);
    }
    builder
}

fn azure(root: &str, purpose: Purpose) -> MicrosoftAzureBuilder {
    let mut builder = MicrosoftAzureBuilder::from_env()
        .with_url(root)
        .with_retry(retry());
    for (key, time) in purpose.time_limits("AZURE_") {
        builder = builder.with_config(AzureConfigKey::Client(key), time);
    }
    if ["AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"]
        .into_iter()
        .any(is_plain_http)
    {
        builder = builder.with_config(AzureConfigKey::Client(ClientConfigKey::AllowHttp), "true");
    }
    builder
}

/// Whether a variable has an address without TLS, which the user then wants.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_link_is_no_reason_to_end_a_request() {
        for (purpose, silence) in [(Purpose::Reads, "30 seconds"), (Purpose::Uploads, "1 hour")] {
            // The texts are times.
            client(Scheme::Http, "http://h", purpose).expect("a client");
            let told = |key: ClientConfigKey| {
                let s3 = s3("s3://b", purpose);
                let azure = azure("az://c", purpose);
                let gcs = gcs("gs://b", purpose);
                [
                    s3.get_config_value(&AmazonS3ConfigKey::Client(key)),
                    azure.get_config_value(&AzureConfigKey::Client(key)),
                    gcs.get_config_value(&GoogleConfigKey::Client(key)),
                ]
                .map(Option::unwrap_or_default)
            };
            assert_eq!(told(ClientConfigKey::Timeout), ["1 day"; 3]);
            assert_eq!(told(ClientConfigKey::ReadTimeout), [silence; 3]);
        }
    }
}
