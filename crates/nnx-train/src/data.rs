//! Where samples come from, and in which order they are given.

mod array;
pub(crate) mod csv_header;
pub(crate) mod csv_table;
pub(crate) mod data_file;
pub(crate) mod dataset;
pub(crate) mod graph;
mod gzip;
mod idx;
mod image;
mod image_folder;
pub(crate) mod loader;
mod order;
pub(crate) mod pixels;
pub(crate) mod sample_options;
pub(crate) mod samples;
pub(crate) mod split;
pub(crate) mod subset;
pub(crate) mod tensors;
pub(crate) mod tokens;
