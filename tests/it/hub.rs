//! Folders and repositories of models.

mod cache;
mod cases;
mod copying;
mod desk;
#[cfg(unix)]
mod disk_full;
mod faults;
mod folders;
mod ignored;
mod loading;
mod mirror;
mod publishing;
mod remembered;
mod saving;
mod shared_cache;
mod side_by_side;
mod tls;
