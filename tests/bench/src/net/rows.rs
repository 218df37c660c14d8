//! The rows of the table.

use candle_core::{Device, Tensor};

use super::models;
use crate::Result;

/// The nodes and the edges of the graph.
const NODES: usize = 10_000;
const EDGES: usize = 100_000;

/// A row of the bench. To add one: a row here, and its model in `models`.
pub(crate) struct Row {
    /// The name to choose the row by.
    pub(crate) name: String,
    /// The title of the row in the table.
    pub(crate) title: String,
    /// The name of the model in [`models`].
    pub(crate) model: String,
    inputs: Vec<Values>,
    targets: Option<Values>,
    pub(crate) work: Work,
    /// The ratio to stay at or below.
    pub(crate) target: f64,
}

/// The elements of a tensor. Only those of a row that is computed take memory.
#[derive(Clone, Debug)]
enum Values {
    /// Numbers that differ, between -1 and 1.
    Numbers(Vec<usize>),
    /// Integers below an end, in no order.
    Integers(Vec<usize>, usize),
}

impl Values {
    fn tensor(&self) -> Result<Tensor> {
        let (Self::Numbers(shape) | Self::Integers(shape, _)) = self;
        let count = shape.iter().product();
        let elements = match self {
            Self::Numbers(_) => {
                let number = |at| ((at * 37 % 1009) as f32 / 504.5) - 1.0;
                Tensor::from_iter((0..count).map(number), &Device::Cpu)
            }
            Self::Integers(_, end) => {
                let integer = |at: usize| (at.wrapping_mul(2_654_435_761) / 7 % end) as i64;
                Tensor::from_iter((0..count).map(integer), &Device::Cpu)
            }
        };
        Ok(elements?.reshape(shape.as_slice())?)
    }
}

impl Row {
    /// What the net gets.
    ///
    /// # Errors
    /// When candle fails.
    pub(crate) fn inputs(&self) -> Result<Vec<Tensor>> {
        self.inputs.iter().map(Values::tensor).collect()
    }

    /// The classes of the outputs, for [`Work::Step`].
    ///
    /// # Errors
    /// When candle fails.
    pub(crate) fn targets(&self) -> Result<Option<Tensor>> {
        self.targets.as_ref().map(Values::tensor).transpose()
    }

    /// The steps of which one computation of the row consists.
    pub(crate) fn steps(&self) -> u32 {
        if self.work == Work::Decode { 64 } else { 1 }
    }
}

/// The work of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// A forward pass in evaluation.
    Forward,
    /// Forward pass, cross-entropy and backward pass in training.
    Step,
    /// A forward pass over the first tokens, which fills a cache.
    Prefill,
    /// Tokens one by one with the cache of those before.
    Decode,
}

impl Work {
    /// The name that the other side knows it by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Step => "step",
            Self::Prefill => "prefill",
            Self::Decode => "decode",
        }
    }
}

/// All rows, in the order of the table.
pub(crate) fn all() -> Vec<Row> {
    let mut rows = Vec::new();
    for (batch, target) in [(1, 0.9), (32, 1.0), (1024, 1.0)] {
        rows.push(Row {
            name: format!("ff_{batch}"),
            title: format!("FEED_FWD 784→512→512→10, batch {batch}"),
            model: "ff".to_owned(),
            inputs: vec![numbers(&[batch, 784])],
            targets: None,
            work: Work::Forward,
            target,
        });
    }
    for convolution in models::Convolution::all() {
        for batch in [1, 32] {
            rows.push(Row {
                name: format!("{}_{batch}", convolution.name()),
                title: format!("CONV 3×32×32, channels 16 and 32, {convolution}, batch {batch}"),
                model: convolution.name(),
                inputs: vec![numbers(&[batch, 3, 32, 32])],
                targets: None,
                work: Work::Forward,
                target: 1.2,
            });
        }
    }
    rows.extend([
        Row {
            name: "ff_step".to_owned(),
            title: "FEED_FWD, batch 64, forward and backward".to_owned(),
            model: "ff".to_owned(),
            inputs: vec![numbers(&[64, 784])],
            targets: Some(integers(&[64], 10)),
            work: Work::Step,
            target: 0.8,
        },
        Row {
            name: "conv_step".to_owned(),
            title: "CONV, kernel 5, batch 32, forward and backward".to_owned(),
            model: models::Convolution::default().name(),
            inputs: vec![numbers(&[32, 3, 32, 32])],
            targets: Some(integers(&[32], 10)),
            work: Work::Step,
            target: 1.3,
        },
        Row {
            name: "prefill".to_owned(),
            title: "TRANSFORMER, width 256, 4 layers, 8192 tokens: prefill of 128".to_owned(),
            model: "transformer".to_owned(),
            inputs: vec![integers(&[1, 192], models::VOCABULARY)],
            targets: None,
            work: Work::Prefill,
            target: 1.1,
        },
        Row {
            name: "decode".to_owned(),
            title: "the same: a token, cached, after 128".to_owned(),
            model: "transformer".to_owned(),
            inputs: vec![integers(&[1, 192], models::VOCABULARY)],
            targets: None,
            work: Work::Decode,
            target: 0.7,
        },
        Row {
            name: "transformer_step".to_owned(),
            title: "the same: forward and backward of 4×128 tokens".to_owned(),
            model: "transformer".to_owned(),
            inputs: vec![integers(&[4, 128], models::VOCABULARY)],
            targets: Some(integers(&[4, 128], models::VOCABULARY - 1)),
            work: Work::Step,
            target: 1.2,
        },
        Row {
            name: "vit".to_owned(),
            title: "VIT 3×224×224, patches of 16, width 192, 4 layers, batch 8".to_owned(),
            model: "vit".to_owned(),
            inputs: vec![numbers(&[8, 3, 224, 224])],
            targets: None,
            work: Work::Forward,
            target: 1.1,
        },
        Row {
            name: "moe".to_owned(),
            title: "FEED_FWD_MOE 784→512→512→10, 2 of 8 experts, batch 32".to_owned(),
            model: "moe".to_owned(),
            inputs: vec![numbers(&[32, 784])],
            targets: None,
            work: Work::Forward,
            target: 1.1,
        },
    ]);
    for (model, title) in [
        ("gcn", "GRAPH_CONV 128→128→16"),
        ("sage", "GRAPH_SAGE 128→128→16"),
        ("gat", "GRAPH_ATT 128→4 heads of 32→16"),
    ] {
        rows.push(Row {
            name: model.to_owned(),
            title: format!("{title}, 10,000 nodes, 100,000 edges"),
            model: model.to_owned(),
            inputs: graph(),
            targets: None,
            work: Work::Forward,
            target: 1.0,
        });
    }
    rows.push(Row {
        name: "sage_step".to_owned(),
        title: "GRAPH_SAGE: forward and backward".to_owned(),
        model: "sage".to_owned(),
        inputs: graph(),
        targets: Some(integers(&[NODES], models::CLASSES)),
        work: Work::Step,
        target: 1.0,
    });
    rows
}

/// The nodes and the edges of a graph.
fn graph() -> Vec<Values> {
    vec![
        numbers(&[NODES, models::FEATURES]),
        integers(&[2, EDGES], NODES),
    ]
}

fn numbers(shape: &[usize]) -> Values {
    Values::Numbers(shape.to_vec())
}

fn integers(shape: &[usize], end: usize) -> Values {
    Values::Integers(shape.to_vec(), end)
}
