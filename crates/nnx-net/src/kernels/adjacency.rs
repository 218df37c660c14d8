//! The edges of a graph in the order of the nodes at one of their ends.

use std::sync::{Arc, OnceLock};

use candle_core::{Result, Tensor};

/// The edges of a graph in both orders: sums along the edges are those of a forward pass, sums against
/// them those of a backward pass.
#[derive(Clone, Debug)]
pub(crate) struct Adjacency(Arc<BothOrders>);

#[derive(Debug)]
struct BothOrders {
    incoming: SortedEdges,
    outgoing: OnceLock<SortedEdges>,
}

impl Adjacency {
    /// The edges of a graph, whose ends are below `nodes`.
    pub(crate) fn new(nodes: usize, sources: &[u32], targets: &[u32]) -> Self {
        Self(Arc::new(BothOrders {
            incoming: SortedEdges::new(nodes, targets, sources),
            outgoing: OnceLock::new(),
        }))
    }

    /// The edges by their targets.
    pub(crate) fn incoming(&self) -> &SortedEdges {
        &self.0.incoming
    }

    /// The edges by their sources; their numbers are positions among those by their targets.
    pub(crate) fn outgoing(&self) -> &SortedEdges {
        self.0.outgoing.get_or_init(|| self.0.incoming.transposed())
    }

    /// The row of each edge's source, by candle's operations.
    ///
    /// # Errors
    /// When candle fails.
    pub(super) fn at_sources(&self, rows: &Tensor) -> Result<Tensor> {
        let sources = self.incoming().neighbours();
        let sources = Tensor::from_slice(sources, sources.len(), rows.device())?;
        rows.contiguous()?.index_select(&sources, 0)
    }

    /// The row of each edge's target, by candle's operations.
    ///
    /// # Errors
    /// When candle fails.
    pub(super) fn at_targets(&self, rows: &Tensor) -> Result<Tensor> {
        let targets = Tensor::new(self.incoming().ends(), rows.device())?;
        rows.contiguous()?.index_select(&targets, 0)
    }

    /// For each node the sum of the rows of the edges that end at it, by candle's operations.
    ///
    /// # Errors
    /// When candle fails.
    pub(super) fn sum_at_targets(&self, rows: &Tensor) -> Result<Tensor> {
        let mut shape = rows.dims().to_vec();
        if let Some(count) = shape.first_mut() {
            *count = self.incoming().nodes();
        }
        let zeros = Tensor::zeros(shape, rows.dtype(), rows.device())?;
        let targets = Tensor::new(self.incoming().ends(), rows.device())?;
        zeros.index_add(&targets, &rows.contiguous()?, 0)
    }
}

/// For each node the edges at it.
#[derive(Debug)]
pub(crate) struct SortedEdges {
    /// Where the edges of each node begin, and where those of the last one end.
    starts: Vec<usize>,
    /// The node at the other end of each edge.
    neighbours: Vec<u32>,
    /// The number of each edge in the list that was sorted.
    numbers: Vec<u32>,
}

impl SortedEdges {
    /// Sorts edges by one of their ends, all of which are below `nodes`. The edges of a node stay in
    /// their order.
    pub(crate) fn new(nodes: usize, ends: &[u32], others: &[u32]) -> Self {
        let mut starts = vec![0; nodes + 1];
        for end in ends {
            starts[*end as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let (mut neighbours, mut numbers) = (vec![0; ends.len()], vec![0; ends.len()]);
        for ((number, end), other) in (0..).zip(ends).zip(others) {
            let place = &mut next[*end as usize];
            neighbours[*place] = *other;
            numbers[*place] = number;
            *place += 1;
        }
        Self {
            starts,
            neighbours,
            numbers,
        }
    }

    /// The same edges, sorted by their other end. Their numbers are their positions in this order.
    fn transposed(&self) -> Self {
        Self::new(self.nodes(), &self.neighbours, &self.ends())
    }

    /// The node at the end of each edge by which the edges are sorted.
    pub(crate) fn ends(&self) -> Vec<u32> {
        let nodes = (0..).zip(0..self.nodes());
        let ends = nodes.flat_map(|(end, node)| std::iter::repeat_n(end, self.degree(node)));
        ends.collect()
    }

    /// The number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of edges.
    pub(crate) fn len(&self) -> usize {
        self.neighbours.len()
    }

    /// The number of edges at a node.
    pub(crate) fn degree(&self, node: usize) -> usize {
        self.starts[node + 1] - self.starts[node]
    }

    /// The positions of a node's edges in this order.
    pub(crate) fn edges(&self, node: usize) -> std::ops::Range<usize> {
        self.starts[node]..self.starts[node + 1]
    }

    /// The node at the other end of each edge.
    pub(crate) fn neighbours(&self) -> &[u32] {
        &self.neighbours
    }

    /// The number of each edge in the list that was sorted.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.numbers
    }
}

#[cfg(test)]
mod tests {
    use super::SortedEdges;

    #[test]
    fn the_edges_of_a_node_stay_in_their_order() {
        let incoming = SortedEdges::new(4, &[2, 0, 2, 3, 2], &[1, 3, 0, 3, 1]);
        assert_eq!(incoming.starts, [0, 1, 1, 4, 5]);
        assert_eq!(incoming.neighbours, [3, 1, 0, 1, 3]);
        assert_eq!(incoming.numbers, [1, 0, 2, 4, 3]);
        let outgoing = incoming.transposed();
        assert_eq!(outgoing.starts, [0, 1, 3, 3, 5]);
        assert_eq!(outgoing.neighbours, [2, 2, 2, 0, 3]);
        assert_eq!(outgoing.numbers, [2, 1, 3, 0, 4]);
    }

    #[test]
    fn a_graph_may_have_no_edges() {
        let incoming = SortedEdges::new(2, &[], &[]);
        assert_eq!(
            (incoming.nodes(), incoming.len(), incoming.degree(1)),
            (2, 0, 0)
        );
        assert_eq!(incoming.transposed().nodes(), 2);
    }
}
