//! Folders and repositories of models.

mod cases;
mod folders;
mod saving;
