//! Folders and repositories of models.

mod cases;
mod desk;
mod faults;
mod folders;
mod loading;
mod publishing;
mod saving;
