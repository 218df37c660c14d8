//! The storage server of Xet on the loopback interface, for tests. Without the feature `simulation`
//! there is nothing here, so that the other tests are built without its crates.

#[cfg(feature = "simulation")]
mod noise;
#[cfg(feature = "simulation")]
mod storage;

#[cfg(feature = "simulation")]
pub use noise::noise;
#[cfg(feature = "simulation")]
pub use storage::XetStorage;
