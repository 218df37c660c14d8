//! How a folder is uploaded.

use crate::setters::setters;

/// How a folder is uploaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UploadOptions {
    /// The first line of the commit message. Default: the one of `huggingface_hub`.
    pub commit_message: Option<String>,
    /// The rest of the commit message. Default: none.
    pub commit_description: Option<String>,
    /// Whether the repository is private if it has to be created. Default: the Hub's choice.
    pub private: Option<bool>,
    /// The branch, which must exist. Default: `main`.
    pub branch: Option<String>,
    /// Whether the commit becomes a pull request. Default: `false`.
    pub create_pr: bool,
    /// Patterns; a file is uploaded only if it matches at least one. Default: none, and every file is
    /// uploaded.
    pub allow_patterns: Option<Vec<String>>,
    /// Patterns of files that are not uploaded. Default: none.
    pub ignore_patterns: Vec<String>,
    /// Patterns of files in the repository that the commit deletes, except files that the folder has
    /// as well. Default: none.
    pub delete_patterns: Vec<String>,
    /// Whether weights in the repository are deleted when the commit brings all weights of a model
    /// under other names: shards and their index in place of one file, or the other way round. Tools
    /// would read the old weights in place of the new ones, or beside them. Default: `false`; pushing
    /// a model always does it.
    pub replace_weights: bool,
    /// Whether weights may be among the files that `.gitignore` keeps out of the repository. They are
    /// not uploaded, and nothing is deleted in their place. Without this option, such an upload is an
    /// error. Default: `false`.
    pub allow_ignored: bool,
    /// The folder in the repository that receives the files. Default: its root.
    pub path_in_repo: Option<String>,
}

impl UploadOptions {
    setters! {
        commit_message(message: impl Into<String>) = Some(message.into());
        commit_description(text: impl Into<String>) = Some(text.into());
        private(private: bool) = Some(private);
        branch(branch: impl Into<String>) = Some(branch.into());
        create_pr(create: bool) = create;
        allow_patterns(patterns: impl IntoIterator<Item = impl Into<String>>) = Some(patterns.into_iter().map(Into::into).collect());
        ignore_patterns(patterns: impl IntoIterator<Item = impl Into<String>>) = patterns.into_iter().map(Into::into).collect();
        delete_patterns(patterns: impl IntoIterator<Item = impl Into<String>>) = patterns.into_iter().map(Into::into).collect();
        replace_weights(replace: bool) = replace;
        allow_ignored(allow: bool) = allow;
        path_in_repo(path: impl Into<String>) = Some(path.into());
    }
}
