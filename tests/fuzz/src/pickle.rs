//! Pickles, read and written.

use nnx_checkpoint::Result;
use nnx_checkpoint::pickle::{Graph, PartialPickle, read, read_lossy, write};

use crate::limits::limits;
use crate::same;

/// The newest protocol.
const NEWEST: u8 = 5;

/// `read` stays within the bytes of the pickle. If `write` accepts the graph, the same graph is
/// read again, and the second writing gives the same bytes.
///
/// # Panics
/// When it does not.
pub fn pickle(data: &[u8]) {
    let Ok((graph, consumed)) = read(data, &limits()) else {
        refused(data);
        return;
    };
    assert!(
        consumed <= data.len(),
        "{consumed} of {} bytes consumed",
        data.len()
    );
    let (own, behind) = data.split_at(consumed);
    assert_eq!(own.last(), Some(&b'.'), "a pickle ends with `STOP`");
    // A byte makes at most one object, `INST` makes two.
    assert!(
        graph.len() <= 2 * consumed,
        "{} objects of {consumed} bytes",
        graph.len()
    );
    for id in graph.ids() {
        let offset = graph.offset(id).expect("an opcode made each object");
        assert!(
            offset < consumed as u64,
            "an object of the byte {offset} of {consumed}"
        );
        assert!(
            !graph.describe(id).contains('\n'),
            "a description has one line"
        );
    }
    if !behind.is_empty() {
        match read(own, &limits()) {
            Ok((alone, again)) => {
                assert_eq!(again, consumed);
                same::graphs(&graph, &alone);
            }
            // A frame may reach beyond the pickle's end, and is then cut short.
            Err(error) => assert!(graph.protocol() >= 4, "what follows was looked at: {error}"),
        }
    }
    let protocol = graph.protocol();
    // A graph that a file described need not be one that can be written.
    round_trip(graph.clone(), protocol.max(1)).ok();
    if protocol != NEWEST {
        round_trip(graph, NEWEST).ok();
    }
}

/// The graph behind an opcode that is refused stays within the bytes, and can be walked.
fn refused(data: &[u8]) {
    let PartialPickle {
        graph,
        outcome,
        consumed,
        ..
    } = read_lossy(data, &limits());
    assert!(outcome.is_err(), "`read` refuses it");
    assert!(graph.len() <= 2 * data.len());
    if let Some(consumed) = consumed {
        let own = data.get(..consumed).expect("no more than there is");
        assert_eq!(own.last(), Some(&b'.'), "a pickle ends with `STOP`");
    }
    for id in graph.ids() {
        assert!(!graph.describe(id).contains('\n'));
        graph.each_member(id, |member| drop(graph.describe(member)));
    }
}

/// Writes a graph in that protocol, reads it and writes it again.
///
/// # Errors
/// When the first writing is refused.
///
/// # Panics
/// When the graphs or the bytes differ.
pub(crate) fn round_trip(mut graph: Graph, protocol: u8) -> Result<()> {
    graph.set_protocol(protocol);
    let bytes = write(&graph, &limits())?;
    let (mut again, consumed) = read(&bytes, &limits().max_pickle_bytes(u64::MAX))
        .unwrap_or_else(|error| panic!("what was written is not read: {error}"));
    assert_eq!(consumed, bytes.len(), "more was written than one pickle");
    same::graphs(&graph, &again);
    if protocol >= 2 {
        assert_eq!(again.protocol(), protocol);
    }
    // Protocol 1 has no mark of its own: a text alone looks like protocol 0.
    again.set_protocol(protocol);
    let twice = write(&again, &limits()).expect("what was read was written before");
    assert!(
        bytes == twice,
        "the second writing differs:\n{}\n{}",
        bytes.escape_ascii(),
        twice.escape_ascii()
    );
    Ok(())
}
