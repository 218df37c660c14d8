#![doc = include_str!("../README.md")]

mod client;
mod error;
mod folder;
mod last_opened;
mod location;
mod object;
mod runtime;
mod upload;
mod url;

pub use object_store;

pub use self::folder::StoreFolder;
pub use self::location::StoreLocation;
pub use self::url::{file_url_path, is_store_url};
