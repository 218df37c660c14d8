//! Writing the files of a plan to their folder.

use std::collections::HashSet;
use std::path::Path;

use super::comparison::Comparison;
use super::options::ConvertOptions;
use super::output::{self, Meter};
use super::plan::{FilePlan, Plan};
use super::share::Share;
use super::target::{Target, TargetFile};
use super::verify;
use crate::error::{Error, ErrorKind, Result};
use crate::target_folder::PendingFile;

/// Names of shards that an error lists.
const SHOWN_SHARDS: usize = 8;

/// A conversion that is planned.
pub(super) struct Job<'a, 'b> {
    pub(super) plan: &'a Plan,
    pub(super) target: &'a Target<'a>,
    /// The path by which errors call the source.
    pub(super) source: &'a Path,
    pub(super) options: &'a ConvertOptions,
    pub(super) meter: Meter<'b>,
}

impl Job<'_, '_> {
    /// Refuses files that are in the way.
    ///
    /// # Errors
    /// When there is one that may not be replaced, and that is not what would be written.
    pub(super) fn check_free(&self) -> Result<()> {
        let (index, single) = (self.target.index(), self.target.single());
        let overwrite = self.options.overwrite;
        if self.options.share == Share::Whole {
            let files = self.plan.files.iter().map(|file| &file.target);
            let planned = self.plan.index.as_ref().map(|(file, _)| file);
            // A reader takes the index before the single file, and one of the two is of something
            // else then.
            let others = [&index, &single];
            return self
                .target
                .check_free(files.chain(planned).chain(others), overwrite);
        }
        match &self.plan.index {
            // Another worker, or this one before it was stopped, has written a single file.
            None => self.target.check_free([&index].into_iter(), overwrite),
            Some(_) if overwrite || self.has_index()? => Ok(()),
            Some(_) => self
                .target
                .check_free([&index, &single].into_iter(), overwrite),
        }
    }

    /// Whether the index that is there is the one that is planned.
    fn has_index(&self) -> Result<bool> {
        let Some((file, text)) = &self.plan.index else {
            return Ok(false);
        };
        if !self.target.folder.has_file(&file.name)? {
            return Ok(false);
        }
        let there = self.target.folder.open(&file.name)?;
        Ok(there.byte_len() == text.len() as u64 && there.bytes()? == text.as_bytes())
    }

    /// Writes all files and puts them in place together.
    ///
    /// # Errors
    /// When a file cannot be written, is not what was meant, or cannot be put in place.
    pub(super) fn write_all(&mut self) -> Result<()> {
        let mut written = Vec::new();
        for file in &self.plan.files {
            written.push((self.write(file)?, &file.target));
        }
        if !self.options.overwrite {
            for (file, target) in written {
                complete(file, target, false)?;
            }
            return self.put_index();
        }
        let was_sharded = self.target.folder.exists(&self.target.index().name)?;
        let is_sharded = was_sharded || self.plan.index.is_some();
        let earlier = if is_sharded {
            self.target.earlier()?
        } else {
            Vec::new()
        };
        self.remove_index()?;
        for (file, target) in written {
            complete(file, target, true)?;
        }
        self.put_index()?;
        self.remove(&earlier)
    }

    /// Writes the shards of a worker, each in place as soon as it is complete.
    ///
    /// # Errors
    /// As for [`write_all`](Self::write_all).
    pub(super) fn write_shards(&mut self) -> Result<()> {
        let overwrite = self.options.overwrite;
        if overwrite {
            // It would lead readers to shards of two conversions.
            self.remove_index()?;
        }
        for file in self.plan.share(self.options.share) {
            if !overwrite && self.is_complete(file)? {
                continue;
            }
            let pending = self.write(file)?;
            match complete(pending, &file.target, overwrite) {
                // The same worker runs twice.
                Err(error) if is_taken(&error) && self.is_complete(file)? => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Checks that all shards are there and right, as an index of them needs it.
    ///
    /// # Errors
    /// [`ErrorKind::ShardsNotWritten`] when some are not there, and when one is another than planned.
    pub(super) fn check_shards(&self) -> Result<()> {
        let mut missing = Vec::new();
        for file in &self.plan.files {
            if !self.target.folder.has_file(&file.target.name)? {
                missing.push(file.target.name.clone());
            }
        }
        if !missing.is_empty() {
            let (count, missing_count) = (self.plan.files.len(), missing.len());
            missing.truncate(SHOWN_SHARDS);
            return Err(Error::new(ErrorKind::ShardsNotWritten {
                count,
                missing: missing_count,
                shards: missing,
            }));
        }
        for file in &self.plan.files {
            self.check_shard(file)
                .map_err(|error| error.in_path(&file.target.path))?;
        }
        Ok(())
    }

    /// Writes the index, if all shards are there and right.
    ///
    /// # Errors
    /// As for [`check_shards`](Self::check_shards), and when the index cannot be written.
    pub(super) fn write_index(&mut self) -> Result<()> {
        self.check_shards()?;
        if self.has_index()? {
            return Ok(());
        }
        let earlier = if self.options.overwrite {
            self.target.earlier()?
        } else {
            Vec::new()
        };
        self.put_index()?;
        self.remove(&earlier)
    }

    /// Whether a shard has the size and the tensors of the plan.
    fn check_shard(&self, file: &FilePlan) -> Result<()> {
        let bytes = self.target.folder.open(&file.target.name)?;
        let (expected, found) = (file.file_len()?, bytes.byte_len());
        if expected != found {
            return Err(Error::malformed(format!(
                "expected a shard of {expected} bytes, found {found}; run its worker again and let \
                 it replace the file"
            )));
        }
        if verify::has_expected(file, &bytes, &self.options.limits)? {
            return Ok(());
        }
        Err(Error::malformed(
            "the shard does not have the tensors of the plan; run its worker again and let it \
             replace the file",
        ))
    }

    /// Whether a file is there and has every byte that would be written.
    ///
    /// # Errors
    /// [`ErrorKind::TargetExists`] when a file is there that differs.
    fn is_complete(&mut self, file: &FilePlan) -> Result<bool> {
        let target = &file.target;
        if !self.target.folder.exists(&target.name)? {
            return Ok(false);
        }
        let there = self.target.folder.open(&target.name)?;
        let is_same = there.byte_len() == file.file_len()? && {
            let mut comparison = Comparison::new(there);
            let options = self.options;
            output::write(file, self.source, &mut comparison, options, &mut self.meter)?;
            if options.verify {
                self.meter.advance(file.tensor_bytes())?;
            }
            comparison.is_same()
        };
        if is_same {
            return Ok(true);
        }
        Err(Error::new(ErrorKind::TargetExists).in_path(&target.path))
    }

    /// Writes one file, which is not in place yet.
    fn write(&mut self, plan: &FilePlan) -> Result<Box<dyn PendingFile>> {
        let in_target = |error: Error| error.in_path(&plan.target.path);
        let (options, meter) = (self.options, &mut self.meter);
        let len = plan.file_len().map_err(in_target)?;
        let mut file = self
            .target
            .folder
            .create(&plan.target.name, len)
            .map_err(in_target)?;
        let written =
            output::write(plan, self.source, &mut *file, options, meter).map_err(in_target)?;
        if options.verify {
            match file.read_back().map_err(in_target)? {
                Some(bytes) => {
                    verify::verify(plan, self.source, &bytes, &written, &options.limits, meter)
                }
                None => meter.advance(plan.tensor_bytes()),
            }
            .map_err(in_target)?;
        }
        file.sync().map_err(in_target)?;
        Ok(file)
    }

    fn put_index(&self) -> Result<()> {
        let Some((target, text)) = &self.plan.index else {
            return Ok(());
        };
        let put = || -> Result<()> {
            let mut file = self.target.folder.create(&target.name, text.len() as u64)?;
            file.write_all(text.as_bytes())?;
            file.sync()?;
            file.complete(true)
        };
        put().map_err(|error| error.in_path(&target.path))
    }

    fn remove_index(&self) -> Result<()> {
        self.target.folder.remove(&self.target.index().name)
    }

    /// Removes what an earlier conversion left of the same target and this one did not write: an old
    /// index would lead readers to old shards.
    fn remove(&self, earlier: &[String]) -> Result<()> {
        let files = self.plan.files.iter().map(|file| file.target.name.as_str());
        let kept: HashSet<&str> = files.collect();
        let others = earlier.iter().filter(|name| !kept.contains(name.as_str()));
        others
            .into_iter()
            .try_for_each(|name| self.target.folder.remove(name))
    }
}

fn complete(file: Box<dyn PendingFile>, target: &TargetFile, replace: bool) -> Result<()> {
    file.complete(replace)
        .map_err(|error| error.in_path(&target.path))
}

fn is_taken(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::TargetExists)
}
