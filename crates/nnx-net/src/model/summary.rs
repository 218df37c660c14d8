//! The layers of a model as a table.

use std::fmt;

use super::NNModel;
use crate::error::Result;
use crate::inputs::Inputs;
use crate::mode::{Mode, Trace};

/// The layers of a model and the shapes of their outputs for some input. `Display` writes a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// The layers in the order in which they ran, then parameters that belong to no layer.
    pub layers: Vec<SummaryLayer>,
    /// The number of elements of all parameters, tied ones counted once.
    pub parameters: usize,
    /// The number of elements of the parameters that training changes.
    pub trainable: usize,
}

/// A line of a [`Summary`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SummaryLayer {
    /// The path of the layer in the module tree, or the name of the parameter.
    pub path: String,
    /// The Python class.
    pub class: &'static str,
    /// The shape of the layer's output, or of the parameter.
    pub output: Vec<usize>,
    /// The number of elements of its parameters, without those that an earlier line has counted.
    pub parameters: usize,
}

impl NNModel {
    /// Runs the net in evaluation mode on an input, and lists its layers.
    ///
    /// # Errors
    /// When the inputs are not valid for the net.
    pub fn summary<'a>(&self, inputs: impl Into<Inputs<'a>>) -> Result<Summary> {
        let inputs = self.inputs(inputs.into())?;
        let mut trace = Trace::default();
        self.net.forward(&inputs, &mut Mode::Trace(&mut trace))?;
        let mut left: Vec<(&str, usize, Vec<usize>)> = self
            .net
            .parameters()
            .distinct()
            .map(|(name, var)| {
                let tensor = var.as_tensor();
                (name, tensor.elem_count(), tensor.dims().to_vec())
            })
            .collect();
        let parameters = left.iter().map(|(_, count, _)| count).sum();
        let mut layers: Vec<SummaryLayer> = Vec::new();
        for (path, class, output) in trace.into_layers() {
            let is_own = |name: &str| {
                let rest = name.strip_prefix(path.as_str());
                rest.is_some_and(|rest| rest.starts_with('.'))
            };
            let own = left.iter().filter(|(name, ..)| is_own(name));
            let parameters = own.map(|(_, count, _)| count).sum();
            left.retain(|(name, ..)| !is_own(name));
            layers.push(SummaryLayer {
                path,
                class,
                output,
                parameters,
            });
        }
        layers.extend(
            left.into_iter()
                .map(|(name, parameters, output)| SummaryLayer {
                    path: name.to_owned(),
                    class: "Parameter",
                    output,
                    parameters,
                }),
        );
        Ok(Summary {
            layers,
            parameters,
            trainable: self
                .trainable()
                .map(|(_, var)| var.as_tensor().elem_count())
                .sum(),
        })
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![["layer", "class", "output", "parameters"].map(str::to_owned)];
        rows.extend(self.layers.iter().map(|layer| {
            [
                layer.path.clone(),
                layer.class.to_owned(),
                format!("{:?}", layer.output),
                layer.parameters.to_string(),
            ]
        }));
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let [a, b, c, d] = [0, 1, 2, 3].map(width);
        for [path, class, output, parameters] in &rows {
            writeln!(f, "{path:<a$}  {class:<b$}  {output:<c$}  {parameters:>d$}")?;
        }
        write!(
            f,
            "{} parameters, {} trainable",
            self.parameters, self.trainable
        )
    }
}
