//! Without the feature `xet`, all files are transferred the ordinary way.

use super::Hub;
use super::download::PartialDownload;
use super::local::LocalFile;
use crate::error::Result;
use crate::repo_id::RepoId;

impl Hub {
    pub(super) fn has_xet(&self) -> bool {
        false
    }

    pub(super) fn fill_from_xet(
        &self,
        _: &RepoId,
        _: &str,
        _: &mut PartialDownload<'_>,
    ) -> Result<bool> {
        Ok(false)
    }

    pub(super) fn send_to_xet(
        &self,
        _: &RepoId,
        _: Option<&str>,
        _: &[&LocalFile],
    ) -> Result<bool> {
        Ok(false)
    }
}
