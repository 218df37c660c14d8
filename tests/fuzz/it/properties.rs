//! Properties of written files, over anything that can be written.
//!
//! Proptest chooses, and shrinks, the decisions from which a graph or a state dict is made; the
//! fuzz body `write` makes the same things of the same bytes.

use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn any_graph_is_read_back_equal(decisions in vec(any::<u8>(), 0..1_500)) {
        nnx_fuzz::graph(&decisions);
    }

    #[test]
    fn any_state_dict_is_read_back_equal(decisions in vec(any::<u8>(), 0..1_500)) {
        nnx_fuzz::state_dict(&decisions);
    }
}
