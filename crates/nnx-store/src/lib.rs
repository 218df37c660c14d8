#![doc = include_str!("../README.md")]

mod client;
mod error;
mod folder;
mod location;
mod object;
mod runtime;
mod upload;
mod url;

pub use object_store;

pub use self::folder::StoreFolder;
pub use self::location::StoreLocation;
pub use self::url::is_store_url;
