//! One graph whose nodes have classes.

use candle_core::{DType, Device, Tensor};
use nnx_net::Batch;

use crate::error::{Error, Result};

/// A graph whose nodes are the samples: NNx's `NNGraphDataset` with `sampler="full"`. A batch is all of
/// it; nothing is drawn.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use nnx_train::GraphDataset;
///
/// let nodes = Tensor::new(&[[0_f32], [1.0], [2.0]], &Device::Cpu)?;
/// let edges = Tensor::new(&[[0_i64, 1], [1, 2]], &Device::Cpu)?;
/// let targets = Tensor::new(&[0_i64, 1, 0], &Device::Cpu)?;
/// let graph = GraphDataset::new(nodes, edges, targets)?;
///
/// // The nodes 1 and 2 are scored, and come first.
/// let loader = graph.part(&[2, 1])?;
/// assert_eq!(loader[0].inputs[0].to_vec2::<f32>()?, [[1.0], [2.0], [0.0]]);
/// assert_eq!(loader[0].inputs[1].to_vec2::<i64>()?, [[2, 0], [0, 1]]);
/// assert_eq!(loader[0].seeds, Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct GraphDataset {
    nodes: Tensor,
    edges: Tensor,
    targets: Tensor,
    count: usize,
    /// The nodes that have a target, which are the first ones.
    scored: usize,
}

impl GraphDataset {
    /// Nodes `[N, …]`, edges `[2, M]` of whole numbers whose first row has the sources, and a target for
    /// each node, or for each of the first ones.
    ///
    /// # Errors
    /// When the shapes do not go together, or an edge has an end that is not a node.
    pub fn new(nodes: Tensor, edges: Tensor, targets: Tensor) -> Result<Self> {
        let rows = |tensor: &Tensor| tensor.dims().first().copied().unwrap_or_default();
        let (count, scored) = (rows(&nodes), rows(&targets));
        if !(1..=count).contains(&scored) || u32::try_from(count).is_err() {
            return Err(Error::data(format!(
                "a graph needs targets for its nodes, got nodes `{:?}` and targets `{:?}`",
                nodes.dims(),
                targets.dims()
            )));
        }
        if edges.dims().len() != 2 || edges.dims().first() != Some(&2) || !edges.dtype().is_int() {
            return Err(Error::data(format!(
                "expected edges `[2, M]` of whole numbers, found `{:?}` of dtype `{}`",
                edges.dims(),
                edges.dtype().as_str()
            )));
        }
        let edges = edges.to_device(&Device::Cpu)?.to_dtype(DType::I64)?;
        let ends = edges.flatten_all()?.to_vec1::<i64>()?;
        let is_node = |end: &i64| usize::try_from(*end).is_ok_and(|end| end < count);
        if let Some(end) = ends.iter().find(|end| !is_node(end)) {
            return Err(Error::data(format!(
                "expected edges between the nodes `0` to `{}`, found the node `{end}`",
                count - 1
            )));
        }
        Ok(Self {
            nodes: nodes.to_device(&Device::Cpu)?.contiguous()?,
            targets: targets.to_device(&Device::Cpu)?.contiguous()?,
            edges,
            count,
            scored,
        })
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.count
    }

    /// The graph as it is; all nodes that have a target are scored.
    pub fn all(&self) -> Batch {
        let inputs = [self.nodes.clone(), self.edges.clone()];
        let seeds = (self.scored < self.count).then_some(self.scored);
        Batch::new(inputs, self.targets.clone()).seeds(seeds)
    }

    /// A loader of one batch: the whole graph with these nodes first, in ascending order, and the others
    /// after them; only these are scored.
    ///
    /// # Errors
    /// When there is no node among them, or one without a target.
    pub fn part(&self, nodes: &[usize]) -> Result<Vec<Batch>> {
        let mut is_seed = vec![false; self.count];
        for node in nodes {
            let seed = is_seed.get_mut(*node).filter(|_| *node < self.scored);
            *seed.ok_or_else(|| {
                Error::data(format!(
                    "node `{node}` is not one of the `{}` that have a target",
                    self.scored
                ))
            })? = true;
        }
        let (seeds, others): (Vec<usize>, Vec<usize>) =
            (0..self.count).partition(|node| is_seed.get(*node).copied().unwrap_or_default());
        if seeds.is_empty() {
            return Err(Error::data(
                "a part of a graph needs at least one node, got none",
            ));
        }
        let count = seeds.len();
        let mut places = vec![0_i64; self.count];
        let mut order = Vec::with_capacity(self.count);
        for (place, node) in seeds.into_iter().chain(others).enumerate() {
            if let Some(of_node) = places.get_mut(node) {
                *of_node = i64::try_from(place).unwrap_or(i64::MAX);
            }
            order.push(u32::try_from(node).unwrap_or(u32::MAX));
        }
        let order = Tensor::new(order, &Device::Cpu)?;
        let ends = self.edges.flatten_all()?.to_vec1::<i64>()?;
        let ends = ends.into_iter().map(|end| {
            let place = usize::try_from(end).ok().and_then(|end| places.get(end));
            place.copied().unwrap_or_default()
        });
        let edges = Tensor::from_vec(ends.collect::<Vec<_>>(), self.edges.shape(), &Device::Cpu)?;
        let nodes = self.nodes.index_select(&order, 0)?;
        let with_targets = if self.scored < self.count {
            order.narrow(0, 0, count)?
        } else {
            order
        };
        let targets = self.targets.index_select(&with_targets, 0)?;
        Ok(vec![Batch::new([nodes, edges], targets).seeds(count)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(ends: [[i64; 2]; 2], targets: &[i64]) -> Result<GraphDataset> {
        let tensor = |values: &[f32]| Tensor::new(values, &Device::Cpu).unwrap();
        let nodes = tensor(&[0.0, 1.0, 2.0]).unsqueeze(1).unwrap();
        let edges = Tensor::new(&ends, &Device::Cpu).unwrap();
        GraphDataset::new(nodes, edges, Tensor::new(targets, &Device::Cpu).unwrap())
    }

    #[test]
    fn the_first_nodes_alone_may_have_targets() {
        let graph = graph([[0, 1], [1, 2]], &[7, 8]).unwrap();
        assert_eq!((graph.nodes(), graph.all().seeds), (3, Some(2)));
        let loader = graph.part(&[1]).unwrap();
        assert_eq!(loader[0].seeds, Some(1));
        assert_eq!(loader[0].targets.to_vec1::<i64>().unwrap(), [8]);
        assert_eq!(loader[0].inputs[0].dims(), [3, 1]);
        let error = graph.part(&[2]).unwrap_err();
        let expected = "node `2` is not one of the `2` that have a target";
        assert_eq!(error.to_string(), expected);
        assert!(graph.part(&[usize::MAX]).is_err());
        assert!(graph.part(&[]).is_err());
    }

    #[test]
    fn other_graphs_are_refused() {
        for end in [3, -1, i64::MAX] {
            let error = graph([[0, end], [1, 2]], &[7, 8, 9]).unwrap_err();
            assert!(error.to_string().contains(&format!("`{end}`")), "{error}");
        }
        assert!(graph([[0, 1], [1, 2]], &[7, 8, 9, 10]).is_err());
        let floats = Tensor::zeros((2, 1), DType::F32, &Device::Cpu).unwrap();
        assert!(GraphDataset::new(floats.clone(), floats.clone(), floats).is_err());
    }
}
