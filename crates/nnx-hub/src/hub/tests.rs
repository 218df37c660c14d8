use super::*;

fn settings(offline: bool) -> Settings {
    Settings::from_variables(&|name| match name {
        "HF_HOME" => Some("/nonexistent".to_owned()),
        "HF_TOKEN" => Some("hf_secret".to_owned()),
        "HF_HUB_OFFLINE" if offline => Some("1".to_owned()),
        _ => None,
    })
    .unwrap()
}

#[test]
fn without_the_network_the_cache_is_all_there_is() {
    let hub = Hub::new(settings(true)).unwrap();
    let repo = crate::RepoId::parse("a/b").unwrap();
    let error = hub
        .snapshot(&repo, &SnapshotOptions::default())
        .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::NotCached { .. }),
        "{error}"
    );
    let error = hub.whoami().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Offline { .. }), "{error}");
    assert!(!format!("{hub:?}").contains("hf_secret"));
}

#[cfg(not(feature = "online"))]
#[test]
fn without_the_feature_the_error_says_what_to_add() {
    let error = Hub::new(settings(false)).unwrap_err();
    let expected = "reaching the Hub needs the feature `online` of nnx-hub, which this program was \
                    built without; add to Cargo.toml: nnx-hub = { version = \"0.1.0\", features = \
                    [\"online\"] }";
    assert_eq!(error.to_string(), expected);
    assert!(matches!(error.kind(), ErrorKind::FeatureMissing { .. }));
}

#[cfg(feature = "hf-hub")]
#[test]
fn a_client_of_hf_hub_gives_its_settings() {
    let client = hf_hub::HFClient::builder()
        .endpoint("http://127.0.0.1:9/")
        .cache_dir("/nonexistent/of-hf-hub")
        .token("hf_secret")
        .build()
        .unwrap();
    let token = Token::new("hf_secret").unwrap();
    let hub = Hub::from_hf_hub(&client, Some(token.clone())).unwrap();
    assert_eq!(hub.endpoint(), "http://127.0.0.1:9");
    assert_eq!(hub.cache_dir(), Some(Path::new("/nonexistent/of-hf-hub")));
    assert_eq!(hub.client.token, Some(token));
}
