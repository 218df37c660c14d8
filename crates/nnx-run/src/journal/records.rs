//! The records of a journal, chunk by chunk.

use nnx_params::NNIterationDataPoint;

use super::chunk::OpenChunk;
use super::reader::JournalReader;
use crate::error::Result;

/// The records of a journal up to an epoch, in order; one chunk is in memory at a time.
#[derive(Debug)]
pub(crate) struct Records {
    journal: JournalReader,
    until: Option<f64>,
    next: usize,
    open: Option<OpenChunk>,
}

impl JournalReader {
    /// The records up to an epoch, or all, in order.
    pub(crate) fn records(self, until: Option<f64>) -> Records {
        Records {
            journal: self,
            until,
            next: 0,
            open: None,
        }
    }
}

impl Records {
    /// The next record; an error is the last item.
    fn advance(&mut self) -> Result<Option<NNIterationDataPoint>> {
        let is_visible = |epoch: f64| self.until.is_none_or(|until| epoch <= until);
        loop {
            if let Some(record) = self.open.as_mut().and_then(Iterator::next) {
                let record = record?;
                if is_visible(record.epoch_idx().as_f64()) {
                    return Ok(Some(record));
                }
                continue;
            }
            self.open = None;
            let Some(chunk) = self.journal.chunks.get(self.next) else {
                return Ok(None);
            };
            if !is_visible(chunk.first_epoch) {
                return Ok(None);
            }
            self.open = Some(OpenChunk::open(&self.journal.folder, chunk)?);
            self.next = self.next.saturating_add(1);
        }
    }
}

impl Iterator for Records {
    type Item = Result<NNIterationDataPoint>;

    fn next(&mut self) -> Option<Self::Item> {
        let advanced = self.advance();
        if !matches!(advanced, Ok(Some(_))) {
            self.open = None;
            self.next = usize::MAX;
        }
        advanced.transpose()
    }
}
