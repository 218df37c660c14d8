//! The one runtime that the requests run on.

use std::io;
use std::sync::{OnceLock, mpsc};

use nnx_checkpoint::Result;
use tokio::runtime::{Builder, Runtime};

/// Threads that handle requests; they wait for the network nearly all of the time.
const THREADS: usize = 2;

/// The runtime, made when the first request is sent.
///
/// # Errors
/// When the operating system refuses the threads.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        let builder = builder.worker_threads(THREADS).thread_name("nnx-store");
        builder
            .enable_all()
            .build()
            .map_err(|error| error.to_string())
    });
    runtime
        .as_ref()
        .map_err(|error| io::Error::other(error.clone()).into())
}

/// The outcome of a request that is under way.
#[derive(Debug)]
pub(crate) struct Pending<T>(mpsc::Receiver<T>);

/// Starts a request.
///
/// # Errors
/// When there is no runtime.
pub(crate) fn start<T: Send + 'static>(
    request: impl Future<Output = T> + Send + 'static,
) -> Result<Pending<T>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    runtime()?.spawn(async move {
        // The caller may be gone.
        let _ = sender.send(request.await);
    });
    Ok(Pending(receiver))
}

impl<T> Pending<T> {
    /// Waits for the outcome. The thread waits on a channel and not in the runtime, so the caller may
    /// be a task of another one.
    ///
    /// # Errors
    /// When the request ended without one.
    pub(crate) fn wait(self) -> Result<T> {
        let ended = |_| io::Error::other("a request ended without an outcome").into();
        self.0.recv().map_err(ended)
    }
}

/// Sends a request and waits for its outcome.
///
/// # Errors
/// When there is no runtime, or the request ended without an outcome.
pub(crate) fn wait<T: Send + 'static>(
    request: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    start(request)?.wait()
}
