//! Images in a folder for each class.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};

use super::image::Image;
use crate::error::{Error, Result};

/// Files of other endings are no images, as for torchvision.
const ENDINGS: [&str; 9] = [
    "jpg", "jpeg", "png", "ppm", "bmp", "pgm", "tif", "tiff", "webp",
];

/// Folders within the folder of a class are searched so deep.
const DEEPEST: usize = 16;

/// The images of a folder, as `torchvision.datasets.ImageFolder` finds them.
#[derive(Debug)]
pub(super) struct ImageFolder {
    /// The names of the folders in it, sorted; the place of a name is its class.
    pub(super) names: Vec<String>,
    /// `[N, C, H, W]`, uint8; grey if all images are.
    pub(super) pixels: Tensor,
    /// `[N]`, int64.
    pub(super) classes: Tensor,
}

impl ImageFolder {
    /// Reads all images. They need one size.
    ///
    /// # Errors
    /// When there is no folder in it, one of them has no image, an image cannot be decoded, or one has
    /// another size; the file is named.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let mut names: Vec<String> = Vec::new();
        for entry in entries(folder)? {
            if entry.path().is_dir() {
                names.push(text(&entry.path(), entry.file_name().to_str())?);
            }
        }
        names.sort();
        if names.is_empty() {
            return Err(
                Error::data("expected a folder of images for each class, found none")
                    .in_path(folder),
            );
        }
        let (mut images, mut classes) = (Vec::new(), Vec::new());
        for (class, name) in (0_i64..).zip(&names) {
            let mut files = Vec::new();
            find(&folder.join(name), DEEPEST, &mut files)?;
            if files.is_empty() {
                return Err(
                    Error::data("expected an image, found none").in_path(&folder.join(name))
                );
            }
            files.sort();
            for (parent, file) in files {
                let path = Path::new(&parent).join(file);
                let image = fs::read(&path).map_err(Error::from);
                let image = image.and_then(|bytes| Image::decode(&bytes));
                images.push((path.clone(), image.map_err(|error| error.in_path(&path))?));
                classes.push(class);
            }
        }
        Ok(Self {
            names,
            pixels: stack(&images)?,
            classes: Tensor::new(classes, &Device::Cpu)?,
        })
    }
}

/// All images as one tensor.
fn stack(images: &[(PathBuf, Image)]) -> Result<Tensor> {
    let Some((_, first)) = images.first() else {
        return Err(Error::data("expected an image, found none"));
    };
    let size = (first.height, first.width);
    if let Some((path, other)) = { images.iter() }.find(|(_, one)| (one.height, one.width) != size)
    {
        return Err(Error::data(format!(
            "expected an image of `{}` x `{}` pixels as the first one, found `{}` x `{}`",
            size.1, size.0, other.width, other.height
        ))
        .in_path(path));
    }
    let channels = { images.iter() }.map(|(_, image)| image.channels).max();
    let channels = channels.unwrap_or(1);
    let count = { size.0.checked_mul(size.1) }
        .and_then(|count| count.checked_mul(channels)?.checked_mul(images.len()));
    let mut pixels = Vec::new();
    let reserved = count.map(|count| pixels.try_reserve_exact(count));
    if !matches!(reserved, Some(Ok(()))) {
        return Err(Error::unsupported("there is no memory for all images"));
    }
    for (_, image) in images {
        pixels.extend(image.planes(channels));
    }
    let shape = (images.len(), channels, size.0, size.1);
    Ok(Tensor::from_vec(pixels, shape, &Device::Cpu)?)
}

/// The images of a folder and those in it, each as its folder and its name.
fn find(folder: &Path, depth: usize, files: &mut Vec<(String, String)>) -> Result<()> {
    let parent = text(folder, folder.to_str())?;
    for entry in entries(folder)? {
        let path = entry.path();
        let kind = entry.file_type();
        // A link to a folder could lead in a circle.
        if kind
            .map_err(|error| Error::from(error).in_path(&path))?
            .is_dir()
        {
            if depth == 0 {
                let what = format!(
                    "expected images at most {DEEPEST} folders deep, found a folder beyond"
                );
                return Err(Error::data(what).in_path(&path));
            }
            find(&path, depth - 1, files)?;
            continue;
        }
        let ending = path.extension().and_then(|ending| ending.to_str());
        let ending = ending.map(str::to_ascii_lowercase);
        if ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str())) {
            files.push((parent.clone(), text(&path, entry.file_name().to_str())?));
        }
    }
    Ok(())
}

/// The entries of a folder.
fn entries(folder: &Path) -> Result<Vec<DirEntry>> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect);
    entries.map_err(|error| Error::from(error).in_path(folder))
}

/// A name that is a text, which the order of classes and files needs.
fn text(path: &Path, name: Option<&str>) -> Result<String> {
    let name = name.map(str::to_owned);
    name.ok_or_else(|| Error::unsupported("a name that is not UTF-8 is not read").in_path(path))
}
