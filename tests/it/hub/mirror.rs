//! A mirror that passes on what the Hub says of itself.

use nnx_hub::SnapshotOptions;

use super::desk::{Desk, REPO, repo};

/// The Hub's `Link` header names the Hub's own address; the next page is asked of the mirror.
#[test]
fn all_pages_of_a_listing_come_from_the_mirror() {
    for desk in [Desk::in_memory(), Desk::on_loopback()] {
        let files: Vec<(String, Vec<u8>)> = (0..8)
            .map(|number| (format!("f{number}.txt"), vec![b'0' + number]))
            .collect();
        let borrowed: Vec<(&str, &[u8])> = files
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
            .collect();
        desk.state().seed(REPO, &borrowed);
        desk.state().set_page(3);
        desk.state().set_link_host("https://huggingface.co");
        let tree = desk.hub.tree(&repo(), "main").unwrap();
        let names: Vec<&str> = tree.iter().map(|entry| entry.path.as_str()).collect();
        let mut expected: Vec<&str> = borrowed.iter().map(|(name, _)| *name).collect();
        expected.insert(0, ".gitattributes");
        assert_eq!(names, expected);
        let folder = desk.hub.snapshot(&repo(), &SnapshotOptions::default());
        let folder = folder.unwrap();
        for (name, bytes) in &files {
            assert_eq!(std::fs::read(folder.join(name)).unwrap(), *bytes);
        }
        // Every page carries the token, and nothing but the endpoint gets it.
        for seen in desk.state().seen() {
            assert_eq!(seen.token, seen.hub, "{seen:?}");
        }
    }
}
