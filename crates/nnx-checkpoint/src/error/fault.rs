//! Why a checkpoint of several processes cannot be joined.

/// Why a checkpoint of several processes cannot be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DistributedFault {
    /// Files of ranks are there, and no `.metadata`: the save broke off.
    NoMetadata,
    /// The `.metadata` is of something else.
    NotMetadata,
    /// The file of a rank is not there.
    MissingRank,
    /// There are files of more ranks than the checkpoint has.
    WorldSizeMismatch,
    /// Two ranks state different kinds, dtypes, shapes or splits of one thing.
    RanksDisagree,
    /// A name leads out of the folder.
    PathTraversal,
    /// A file that the checkpoint names is not there.
    MissingFile,
    /// A part ends behind the end of its file.
    Truncated,
    /// No archive fills the place of a part, or it holds something else.
    BadContainer,
    /// Two parts share bytes of a file.
    OverlappingRanges,
    /// Two chunks of a tensor share elements.
    OverlappingChunks,
    /// Elements of a tensor are in no chunk.
    Hole,
    /// A chunk is not within its tensor.
    ChunkOutside,
    /// A chunk has another number of dimensions than its tensor.
    ChunkRank,
    /// A part holds a tensor of another shape than its chunk.
    ChunkShape,
    /// A part holds a tensor of another dtype than its whole.
    ChunkDtype,
    /// The `.metadata` does not say where a chunk or a value is.
    NoStorageEntry,
    /// Two names are of one place in the nested state, or one is below another's value.
    DuplicatePath,
    /// A number is beyond what the files can hold, or what is sane.
    Limit,
    /// A part was transformed in a way that is not undone.
    UnsupportedTransform,
    /// A file of pieces does not say where a piece belongs.
    NoShardingInfo,
    /// The values of the ranks would have to be added.
    PartialPlacement,
    /// The parameters of a module are one flat tensor, which only the model's code can divide.
    FsdpFlatParameters,
    /// The slices of tensor, pipeline or expert parallelism are joined by the model's code alone.
    TensorParallel,
    /// The state of the training is in other files than these: on NVMe.
    Offloaded,
    /// Flat groups and the shapes of their parameters do not use each other up.
    SizeMismatch,
    /// The file `latest` names a folder that is not there.
    MissingFolder,
    /// There are several saves or none, and no file `latest` says which is meant.
    NoLatest,
    /// There are several checkpoints in the folder.
    ChooseFolder,
    /// A kind of checkpoint that is named and not joined.
    NotJoined,
}

impl DistributedFault {
    /// The fault's name in `snake_case`, which stays the same from version to version: for scripts,
    /// and for `nnx --json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoMetadata => "no_metadata",
            Self::NotMetadata => "not_metadata",
            Self::MissingRank => "missing_rank",
            Self::WorldSizeMismatch => "world_size_mismatch",
            Self::RanksDisagree => "ranks_disagree",
            Self::PathTraversal => "path_traversal",
            Self::MissingFile => "missing_file",
            Self::Truncated => "truncated",
            Self::BadContainer => "bad_container",
            Self::OverlappingRanges => "overlapping_ranges",
            Self::OverlappingChunks => "overlapping_chunks",
            Self::Hole => "hole",
            Self::ChunkOutside => "chunk_outside",
            Self::ChunkRank => "chunk_rank",
            Self::ChunkShape => "chunk_shape",
            Self::ChunkDtype => "chunk_dtype",
            Self::NoStorageEntry => "no_storage_entry",
            Self::DuplicatePath => "duplicate_path",
            Self::Limit => "limit",
            Self::UnsupportedTransform => "unsupported_transform",
            Self::NoShardingInfo => "no_sharding_info",
            Self::PartialPlacement => "partial_placement",
            Self::FsdpFlatParameters => "fsdp_flat_parameters",
            Self::TensorParallel => "tensor_parallel",
            Self::Offloaded => "offloaded",
            Self::SizeMismatch => "size_mismatch",
            Self::MissingFolder => "missing_folder",
            Self::NoLatest => "no_latest",
            Self::ChooseFolder => "choose_folder",
            Self::NotJoined => "not_joined",
        }
    }
}
