//! Names of files that differ in a rank alone.

/// What the names of the files of one checkpoint have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RankStem {
    before: String,
    after: String,
}

impl RankStem {
    /// The stem of a name such as `model_world_size_2_rank_0.pt` or `pytorch_model_fsdp_0_rank0.bin`,
    /// and the rank in it.
    pub(crate) fn parse(name: &str) -> Option<(Self, u64)> {
        let (stem, extension) = name.rsplit_once('.')?;
        if !["pt", "pth", "bin"].contains(&extension) {
            return None;
        }
        let digits = stem.bytes().rev().take_while(u8::is_ascii_digit).count();
        let split = stem.len().checked_sub(digits).filter(|_| digits > 0)?;
        let (before, number) = stem.split_at_checked(split)?;
        let is_rank = before.strip_suffix('_').unwrap_or(before).ends_with("rank");
        let rank = number.parse().ok().filter(|_| is_rank)?;
        let stem = Self {
            before: before.to_owned(),
            after: format!(".{extension}"),
        };
        Some((stem, rank))
    }

    /// The files of the stem, by their ranks.
    pub(crate) fn files<'a>(&self, names: &'a [String]) -> Vec<(u64, &'a String)> {
        let mut files: Vec<(u64, &String)> = names
            .iter()
            .filter_map(|name| {
                let (stem, rank) = Self::parse(name)?;
                (stem == *self).then_some((rank, name))
            })
            .collect();
        files.sort_unstable();
        files
    }

    /// The number of ranks in the name.
    pub(super) fn world(&self) -> Option<u64> {
        let (_, rest) = self.before.rsplit_once("world_size_")?;
        let (number, _) = rest.split_once('_')?;
        number.parse().ok()
    }

    /// Whether the name is one of an optimizer's state.
    pub(crate) fn is_optimizer(&self) -> bool {
        let mut words = self.before.split(['_', '-', '.']);
        let first = words.next();
        first.is_some_and(|word| ["optim", "optimizer", "optimizers"].contains(&word))
    }

    /// Whether the name is one of other states of a rank, such as its random numbers.
    pub(crate) fn is_extra(&self) -> bool {
        ["extra", "random", "rng", "scheduler"]
            .iter()
            .any(|start| self.before.starts_with(start))
    }

    /// The name with `R` for the rank.
    pub(crate) fn in_words(&self) -> String {
        format!("{}R{}", self.before, self.after)
    }
}

/// The stems of names, each once.
pub(crate) fn stems<'a>(names: impl Iterator<Item = &'a str>) -> Vec<RankStem> {
    let mut stems: Vec<RankStem> = Vec::new();
    for (stem, _) in names.filter_map(RankStem::parse) {
        if !stems.contains(&stem) {
            stems.push(stem);
        }
    }
    stems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_read_from_names() {
        let (stem, rank) = RankStem::parse("model_world_size_12_rank_10.pt").unwrap();
        assert_eq!((rank, stem.world()), (10, Some(12)));
        assert_eq!(stem.in_words(), "model_world_size_12_rank_R.pt");
        let (stem, rank) = RankStem::parse("pytorch_model_fsdp_0_rank1.bin").unwrap();
        assert_eq!((rank, stem.world()), (1, None));
        assert!(!stem.is_optimizer());
        let is_optimizer = |name| RankStem::parse(name).unwrap().0.is_optimizer();
        assert!(is_optimizer("optimizer_0_rank1.bin"));
        assert!(is_optimizer("optim_world_size_2_rank_0.pt"));
        assert!(!is_optimizer("optimus_rank_0.pt"));
        for name in ["model_0.pt", "rank.pt", "rank_0.safetensors", "frank"] {
            assert_eq!(RankStem::parse(name), None, "{name}");
        }
    }
}
