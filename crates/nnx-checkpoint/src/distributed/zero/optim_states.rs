//! The optimizer states of each rank, which have the float32 parameters.

use crate::Dtype;
use crate::distributed::files::{self, RankFiles};
use crate::distributed::torch_file::TorchFile;
use crate::error::{DistributedFault, Error, Result};
use crate::open::OpenOptions;
use crate::pickle::NodeId;

use super::flat::FlatGroup;

/// The shapes of the parameters of one group, in the order of its elements.
pub(super) type Shapes = Vec<(String, Vec<usize>)>;

/// The optimizer states of all ranks.
#[derive(Debug)]
pub(super) struct OptimStates {
    ranks: Vec<RankStates>,
    /// The ranks in the names of the files.
    numbers: Vec<u64>,
}

/// Those of one rank.
#[derive(Debug)]
struct RankStates {
    file: TorchFile,
    /// The node of the `optimizer_state_dict`.
    state: NodeId,
    stage: Option<i64>,
    partition_count: Vec<i64>,
    groups: Vec<FlatGroup>,
}

impl OptimStates {
    /// Opens the files.
    ///
    /// # Errors
    /// When one of them is not what DeepSpeed writes.
    pub(super) fn open(
        files: &RankFiles,
        listed: &[(u64, String)],
        options: &OpenOptions,
    ) -> Result<Self> {
        let mut ranks = Vec::new();
        for (_, name) in listed {
            ranks.push(RankStates::open(files, name, options)?);
        }
        Ok(Self {
            ranks,
            numbers: listed.iter().map(|(rank, _)| *rank).collect(),
        })
    }

    /// Checks that all ranks are there and agree.
    ///
    /// # Errors
    /// When they are not, or do not.
    pub(super) fn check(&self) -> Result<()> {
        let Some(first) = self.ranks.first() else {
            return Ok(());
        };
        let world = first.partition_count.iter().copied().max().unwrap_or(0);
        files::check_ranks(
            "the optimizer states (`…_optim_states.pt`)",
            &self.numbers,
            u64::try_from(world).unwrap_or(0),
        )?;
        for other in &self.ranks {
            if (other.stage, &other.partition_count, other.groups.len())
                != (first.stage, &first.partition_count, first.groups.len())
            {
                return Err(Error::distributed(
                    DistributedFault::RanksDisagree,
                    format!(
                        "stage {:?}, {:?} partitions and {} groups, but stage {:?}, {:?} and {} in \
                         the file of rank 0",
                        other.stage,
                        other.partition_count,
                        other.groups.len(),
                        first.stage,
                        first.partition_count,
                        first.groups.len()
                    ),
                )
                .in_path(&other.file.path));
            }
        }
        if first.partition_count.iter().any(|&count| count != world) {
            return Err(Error::distributed(
                DistributedFault::TensorParallel,
                format!(
                    "the groups have {:?} partitions, as those of a mixture of experts do, which is \
                     not joined; run DeepSpeed's `ds_to_universal`",
                    first.partition_count
                ),
            ));
        }
        Ok(())
    }

    /// The files.
    pub(super) fn files(&self) -> impl Iterator<Item = &TorchFile> {
        self.ranks.iter().map(|rank| &rank.file)
    }

    /// How many ranks there are.
    pub(super) fn world(&self) -> usize {
        self.ranks.len().max(1)
    }

    /// Whether every parameter is split for itself.
    pub(super) fn is_three(&self) -> bool {
        self.stage() == Some(3)
    }

    /// Whether parameters that were not trained are in the module and nowhere else: stage 1, and the
    /// bfloat16 optimizer, which is read like it.
    pub(super) fn has_frozen_in_module(&self) -> bool {
        matches!(self.stage(), Some(1) | None)
    }

    fn stage(&self) -> Option<i64> {
        self.ranks.first().and_then(|rank| rank.stage)
    }

    pub(super) fn stage_in_words(&self) -> String {
        match self.stage() {
            Some(stage) => format!("ZeRO stage {stage}"),
            None => "the bfloat16 optimizer".to_owned(),
        }
    }

    /// The shapes that the first file has; from DeepSpeed 0.6 on the model states have them.
    pub(super) fn shapes(&self) -> Option<(&TorchFile, NodeId)> {
        let file = &self.ranks.first()?.file;
        Some((file, file.get("param_shapes")?))
    }

    /// Shapes and groups of equal numbers: for each group its shapes, and its elements of each rank.
    /// Where DeepSpeed joined either of them, all are one.
    ///
    /// # Errors
    /// When there is no group.
    pub(super) fn matched(&self, shapes: &[Shapes]) -> Result<(Vec<Shapes>, Vec<Vec<FlatGroup>>)> {
        let count = self.ranks.first().map_or(0, |rank| rank.groups.len());
        let of = |number: usize| -> Vec<FlatGroup> {
            let ranks = self.ranks.iter();
            ranks
                .map(|rank| rank.groups.get(number).cloned().unwrap_or_default())
                .collect()
        };
        if count == shapes.len() {
            return Ok((shapes.to_vec(), (0..count).map(of).collect()));
        }
        if !self.is_three() {
            return Err(Error::distributed(
                DistributedFault::SizeMismatch,
                format!(
                    "the optimizer has {count} groups, the model states have shapes for {}",
                    shapes.len()
                ),
            ));
        }
        let all = self
            .ranks
            .iter()
            .map(|rank| FlatGroup::concatenated(&rank.groups));
        Ok((
            vec![shapes.iter().flatten().cloned().collect()],
            vec![all.collect()],
        ))
    }

    /// The dtype of a group.
    ///
    /// # Errors
    /// When it is not one for all ranks, or there is none.
    pub(super) fn dtype_of(&self, ranks: &[FlatGroup], number: usize) -> Result<Dtype> {
        let tensors = ranks.iter().flat_map(FlatGroup::tensors);
        let mut dtypes = tensors.map(|tensor| (tensor.dtype(), tensor.shape().len()));
        let first = dtypes.next().unwrap_or((Dtype::Float32, 1));
        match dtypes.find(|other| *other != first) {
            None if first.1 == 1 => Ok(first.0),
            other => Err(Error::distributed(
                DistributedFault::SizeMismatch,
                format!(
                    "parameter group {number}: expected flat tensors of one dtype, found {} with {} \
                     dimensions{}",
                    first.0,
                    first.1,
                    other.map_or(String::new(), |(dtype, _)| format!(" and {dtype}"))
                ),
            )),
        }
    }

    /// Elements of padding behind each parameter of a group.
    ///
    /// # Errors
    /// When there are not as many as parameters.
    pub(super) fn paddings(&self, number: usize, count: usize) -> Result<Vec<usize>> {
        let none = || vec![0; count];
        let Some(rank) = self.ranks.first() else {
            return Ok(none());
        };
        let graph = rank.file.graph();
        let Some(all) = graph.get(rank.state, "param_alignment_paddings") else {
            return Ok(none());
        };
        if graph.is_none(all) {
            return Ok(none());
        }
        let group = graph.sequence(all).and_then(|all| all.get(number).copied());
        let numbers = group.and_then(|group| {
            let numbers = graph.sequence(group)?.iter();
            let numbers = numbers.map(|&number| usize::try_from(graph.int(number)?).ok());
            numbers.collect::<Option<Vec<usize>>>()
        });
        numbers.filter(|numbers| numbers.len() == count).ok_or_else(|| {
            Error::distributed(
                DistributedFault::SizeMismatch,
                format!("parameter group {number}: expected a padding for each of {count} parameters"),
            )
        })
    }
}

impl RankStates {
    fn open(files: &RankFiles, name: &str, options: &OpenOptions) -> Result<Self> {
        let path = files.path(name)?;
        let file = TorchFile::open(files, &path, options)?;
        let unfit = |what: &str| {
            Error::malformed(format!(
                "expected the optimizer states of DeepSpeed, found {what}"
            ))
            .in_path(&path)
        };
        let state = file
            .get("optimizer_state_dict")
            .ok_or_else(|| unfit("no `optimizer_state_dict`"))?;
        let graph = file.graph();
        let stage = graph.get(state, "zero_stage").and_then(|stage| {
            // `ZeroStageEnum(3)`, or a plain number in old files.
            graph.int(stage).or_else(|| match graph.reduce(stage)? {
                ((_, "ZeroStageEnum"), &[stage]) => graph.int(stage),
                _ => None,
            })
        });
        let counts = graph.get(state, "partition_count");
        let partition_count = counts.and_then(|counts| match graph.int(counts) {
            Some(count) => Some(vec![count]),
            None => {
                let counts = graph.sequence(counts)?.iter();
                counts.map(|&count| graph.int(count)).collect()
            }
        });
        let partition_count: Vec<i64> =
            partition_count.ok_or_else(|| unfit("no `partition_count`"))?;
        let key = if stage == Some(3) {
            "fp32_flat_groups"
        } else {
            "single_partition_of_fp32_groups"
        };
        let flat = graph.get(state, key).and_then(|flat| graph.sequence(flat));
        let flat = flat.ok_or_else(|| unfit(&format!("no `{key}`")))?;
        let mut groups = Vec::new();
        for &id in flat {
            groups.push(FlatGroup::new(file.expect_tensor(id, "a flat group")?));
        }
        Ok(Self {
            state,
            stage,
            partition_count,
            groups,
            file,
        })
    }
}
