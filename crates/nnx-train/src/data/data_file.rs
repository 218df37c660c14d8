//! Reads what a model is run, evaluated or trained on.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use candle_core::{DType, Tensor};
use indexmap::IndexMap;
use nnx_checkpoint::safetensors::SafeTensors;
use nnx_checkpoint::zip::ZipArchive;
use nnx_checkpoint::{Format, Limits, Source, npy, sniff};
use nnx_params::Nets;

use super::array::{integers, numbers, tensor};
use super::csv_header::Header;
use super::csv_table::CsvTable;
use super::image_folder::ImageFolder;
use super::pixels::{as_floats, with_channels};
use super::sample_options::SampleOptions;
use super::{gzip, idx};
use crate::error::{Error, Result};

/// The names of a graph's edges, and of a mask of patches.
const EDGES: &str = "edge_index";
const MASK: &str = "mask";
/// The names of the inputs.
const INPUTS: [&str; 2] = ["x", "inputs"];

/// The contents of a file or folder.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DataFile {
    /// One array without a name: a `.npy` file, or an IDX file that has no images.
    Array(Tensor),
    /// Arrays with names: a `.npz` or safetensors file.
    Named(IndexMap<String, Tensor>),
    /// A CSV text.
    Table(CsvTable),
    /// Images: an IDX file of images, or a folder that has a folder of images for each class.
    Images {
        /// Bytes `[N, C, H, W]`.
        pixels: Tensor,
        /// The class of each image, if it is known.
        classes: Option<Tensor>,
        /// The names of the classes, if they have names.
        names: Vec<String>,
    },
}

impl DataFile {
    /// Reads a file or a folder.
    ///
    /// - The format of a file is detected from its contents; see [`parse`](Self::parse). If it is an
    ///   IDX file of images whose name contains `images-idx3`, its classes are read from the file
    ///   beside it that has `labels-idx1` in its place.
    /// - In a folder of MNIST's IDX files, the file `train-images-idx3-ubyte` is read, which may have
    ///   the ending `.gz`; in any other folder, the images of the folders in it, one for each class, as
    ///   `torchvision.datasets.ImageFolder` does: PNG, and the binary forms of PGM and PPM.
    ///
    /// # Errors
    /// When it cannot be read, or has another format. The error contains the path.
    pub fn open(path: impl AsRef<Path>, header: Header) -> Result<Self> {
        let path = path.as_ref();
        if !path.is_dir() {
            return Self::open_file(path, header).map_err(|error| error.in_path(path));
        }
        let training = ["train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"];
        let training = { training.iter() }.map(|name| path.join(name));
        if let Some(images) = { training }.into_iter().find(|path| path.is_file()) {
            return Self::open(images, header);
        }
        let folder = ImageFolder::read(path)?;
        Ok(Self::Images {
            pixels: folder.pixels,
            classes: Some(folder.classes),
            names: folder.names,
        })
    }

    fn open_file(path: &Path, header: Header) -> Result<Self> {
        let source = Source::open(path)?;
        let read = Self::parse(source.bytes(), header)?;
        let Self::Images { pixels, names, .. } = read else {
            return Ok(read);
        };
        let classes = match labels_beside(path) {
            None => None,
            Some(path) => Some(Self::labels(&path, &pixels).map_err(|error| error.in_path(&path))?),
        };
        Ok(Self::Images {
            pixels,
            classes,
            names,
        })
    }

    /// The classes of images.
    fn labels(path: &Path, pixels: &Tensor) -> Result<Tensor> {
        let source = Source::open(path)?;
        match Self::parse(source.bytes(), Header::Auto)? {
            Self::Array(labels) if labels.dims() == [pixels.dim(0)?] => integers(&labels),
            _ => Err(Error::data(format!(
                "expected the labels of `{}` images",
                pixels.dim(0)?
            ))),
        }
    }

    /// Reads the bytes of a file. The format is detected from them: a NumPy array, an archive of
    /// arrays, a safetensors file, an IDX file, one of these compressed by gzip, or else a CSV
    /// text, whose first line is read as `header` says.
    ///
    /// # Errors
    /// When they have another format, or are damaged.
    pub fn parse(bytes: &Bytes, header: Header) -> Result<Self> {
        let limits = Limits::default();
        if gzip::is_gzip(bytes) {
            let inflated = Bytes::from(gzip::inflate(bytes, &limits)?);
            if gzip::is_gzip(&inflated) {
                return Err(unknown("a compressed file within a compressed file"));
            }
            return Self::parse(&inflated, header);
        }
        if bytes.starts_with(npy::MAGIC) {
            return Ok(Self::Array(tensor(&npy::read(bytes.clone())?)?));
        }
        if idx::is_idx(bytes) {
            let array = idx::read(bytes)?;
            return Ok(match idx::as_images(&array) {
                None => Self::Array(array),
                Some(pixels) => Self::Images {
                    pixels,
                    classes: None,
                    names: Vec::new(),
                },
            });
        }
        match sniff(bytes) {
            Some(Format::SafeTensors) => {
                let file = SafeTensors::parse(bytes.clone(), &limits)?;
                let named = file.tensors().map(|(name, stored)| {
                    let read = tensor(stored).map_err(|error| error.in_array(name))?;
                    Ok((name.to_owned(), read))
                });
                Ok(Self::Named(named.collect::<Result<_>>()?))
            }
            Some(Format::TorchZip) => {
                let archive = ZipArchive::parse(bytes.clone(), &limits)?;
                let arrays = archive.entries().iter().map(|entry| {
                    let name = entry.name();
                    let Some(short) = name.strip_suffix(".npy") else {
                        return Err(unknown("an archive that holds more than NumPy arrays"));
                    };
                    let array =
                        npy::read(archive.data(entry)?).map_err(|error| error.in_entry(name));
                    let array = tensor(&array?).map_err(|error| error.in_array(short));
                    Ok((short.to_owned(), array?))
                });
                Ok(Self::Named(arrays.collect::<Result<_>>()?))
            }
            Some(other) => Err(unknown(&other.to_string())),
            None if bytes.contains(&0) => Err(unknown("other bytes")),
            None => Ok(Self::Table(CsvTable::parse(bytes, header)?)),
        }
    }

    /// The inputs of a net, all samples of them.
    ///
    /// # Errors
    /// When a name is missing, a cell is not a number, or the net takes other inputs.
    pub fn inputs(&self, net: Nets, options: &SampleOptions) -> Result<Vec<Tensor>> {
        match self {
            Self::Table(table) => {
                let columns = match options.inputs.as_slice() {
                    [] => table.all(),
                    names => table.columns(names)?,
                };
                Ok(vec![rows(net, table, &columns, options.finite)?])
            }
            Self::Named(named) => {
                let only = named.first().filter(|_| named.len() == 1);
                let first = INPUTS.iter().find_map(|name| named.get(*name));
                let first = first.or(only.map(|(_, tensor)| tensor));
                let first = first.ok_or_else(|| missing(INPUTS[0], named))?;
                let mut inputs = vec![of_net(net, first)?];
                if net.is_graph() {
                    let edges = named.get(EDGES).ok_or_else(|| missing(EDGES, named))?;
                    inputs.push(integers(edges)?);
                }
                if let (Nets::Vit, Some(mask)) = (net, named.get(MASK)) {
                    inputs.push(mask.to_dtype(DType::U8)?);
                }
                Ok(inputs)
            }
            Self::Array(_) | Self::Images { .. } if net.is_graph() => Err(graph_needs_names(net)),
            Self::Array(array) => Ok(vec![of_net(net, array)?]),
            Self::Images { pixels, .. } => match options.channels {
                None => Ok(vec![as_floats(pixels)?]),
                Some(channels) => Ok(vec![as_floats(&with_channels(pixels, channels)?)?]),
            },
        }
    }
}

/// The file of labels beside one of images.
fn labels_beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let labels = name.replace("images-idx3", "labels-idx1");
    let path = path.with_file_name(&labels);
    (labels != name && path.is_file()).then_some(path)
}

/// Columns of a table as the inputs of a net.
///
/// # Errors
/// When a cell is not a number, or with `finite` not a finite one, or the net takes no rows.
pub(super) fn rows(net: Nets, table: &CsvTable, columns: &[usize], finite: bool) -> Result<Tensor> {
    match net {
        net if net.is_graph() => Err(graph_needs_names(net)),
        Nets::Transformer => table.integers(columns, &[]),
        _ if finite => table.finite_numbers(columns),
        _ => table.numbers(columns),
    }
}

/// An array with the dtype that the net takes, if the conversion changes no value.
fn of_net(net: Nets, array: &Tensor) -> Result<Tensor> {
    match net {
        Nets::Transformer => integers(array),
        _ => numbers(array),
    }
}

/// The error for an array that is not there.
#[cold]
pub(super) fn missing(name: &str, named: &IndexMap<String, Tensor>) -> Error {
    let names: Vec<&str> = named.keys().map(String::as_str).collect();
    Error::data(format!(
        "expected an array `{name}`, found `{}`",
        names.join("`, `")
    ))
}

#[cold]
fn graph_needs_names(net: Nets) -> Error {
    Error::unsupported(format!(
        "net `{net}` takes nodes `x` and edges `{EDGES}`: give a safetensors or npz file with both"
    ))
}

#[cold]
fn unknown(found: &str) -> Error {
    Error::unsupported(format!(
        "expected a NumPy array, a safetensors file, an IDX file or a CSV text, found {found}"
    ))
}
