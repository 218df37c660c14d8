//! The parameters of net and model.

use nnx_params::{
    Devices, Losses, NNModelParams, NNParams, NetDescriptor, NetParams, Nets, PrecisionPolicy,
    TaskSpec,
};

use super::super::{classes, plain};
use super::Encoder;
use crate::error::{Error, Result};
use crate::pickle::NodeId;

impl Encoder<'_> {
    pub(super) fn net_params(&mut self, params: &NetParams) -> Result<NodeId> {
        let mut values = self.base_params(params.base());
        let module = match params {
            NetParams::Base(_) => classes::NN_PARAMS,
            NetParams::MoE(own) => {
                values.extend([own.num_experts(), own.top_k()].map(|count| self.count(count)));
                classes::NN_MOE_PARAMS
            }
            NetParams::Conv(own) => {
                values.push(self.counts(own.conv_channels()));
                values.extend(
                    [
                        own.in_channels(),
                        own.kernel_size(),
                        own.stride(),
                        own.padding(),
                        own.pool_size(),
                    ]
                    .map(|count| self.count(count)),
                );
                classes::NN_CONV_PARAMS
            }
            NetParams::Transformer(own) => {
                values.extend(
                    [
                        own.vocab_size(),
                        own.n_layers(),
                        own.d_model(),
                        own.max_seq_len(),
                        own.ffn_mult(),
                    ]
                    .map(|count| self.count(count)),
                );
                values.extend(
                    [
                        own.rope_base(),
                        own.tie_embeddings_given(),
                        own.attn_dropout(),
                        own.resid_dropout(),
                    ]
                    .map(|number| self.number(number)),
                );
                classes::NN_TRANSFORMER_PARAMS
            }
            NetParams::ViT(own) => {
                values.extend(
                    [
                        own.image_size(),
                        own.patch_size(),
                        own.d_model(),
                        own.n_layers(),
                        own.in_channels(),
                        own.ffn_mult(),
                    ]
                    .map(|count| self.count(count)),
                );
                values.extend(
                    [own.attn_dropout(), own.resid_dropout()].map(|number| self.number(number)),
                );
                classes::NN_VIT_PARAMS
            }
            other => {
                return Err(Error::unsupported(format!(
                    "the pickle form of `{}` is not known",
                    other.class()
                )));
            }
        };
        self.slotted(module, params.class(), values, "net_params")
    }

    /// The fields of `NNParams`, which the other classes repeat in front of their own.
    fn base_params(&mut self, params: &NNParams) -> Vec<NodeId> {
        let dropout_prob = self.number(params.dropout_prob());
        let n_heads = match params.n_heads() {
            Some(n_heads) => self.count(n_heads),
            None => self.builder.none(),
        };
        let activation = match params.activation() {
            Some(activation) => self.activation(activation),
            None => self.builder.none(),
        };
        let activations = match params.activations() {
            Some(activations) => {
                let members = activations
                    .iter()
                    .map(|&member| self.activation(member))
                    .collect();
                self.immutable_list(members)
            }
            None => self.builder.none(),
        };
        let dropout_probs = match params.dropout_probs() {
            Some(numbers) => {
                let numbers = numbers.iter().map(|&number| self.number(number)).collect();
                self.immutable_list(numbers)
            }
            None => self.builder.none(),
        };
        let input_dim = self.count(params.input_dim());
        let output_dim = self.count(params.output_dim());
        let hidden_dims = match params.hidden_dims() {
            Some(hidden_dims) => self.counts(hidden_dims),
            None => self.builder.none(),
        };
        let dims = self.counts(&params.dims());
        vec![
            dropout_prob,
            n_heads,
            activation,
            activations,
            dropout_probs,
            input_dim,
            output_dim,
            hidden_dims,
            dims,
        ]
    }

    pub(super) fn model_params(&mut self, params: &NNModelParams) -> Result<NodeId> {
        let net = match params.net() {
            Some(net) => self.net(net)?,
            None => self.builder.none(),
        };
        let device = self.member(Devices::MODULE, Devices::CLASS, params.device().value());
        let loss = self.member(Losses::MODULE, Losses::CLASS, params.loss().value());
        let mixed_precision = self.builder.bool(params.mixed_precision());
        let task = match params.task() {
            Some(task) => self.task(task)?,
            None => self.builder.none(),
        };
        let precision = match params.precision() {
            Some(precision) => self.precision(precision)?,
            None => self.builder.none(),
        };
        let values = vec![net, device, loss, mixed_precision, task, precision];
        self.slotted(
            classes::NN_MODEL_PARAMS,
            NNModelParams::CLASS,
            values,
            "model_params",
        )
    }

    fn net(&mut self, net: &NetDescriptor) -> Result<NodeId> {
        match net {
            NetDescriptor::Net(net) => Ok(self.member(Nets::MODULE, Nets::CLASS, net.value())),
            NetDescriptor::Registered(spec) => {
                let callable = self.builder.global(classes::MODELS, "_model_spec");
                let args = vec![
                    self.builder.text(spec.id()),
                    self.count(spec.version()),
                    plain::dict(&mut self.builder, spec.config()),
                    self.count(spec.seed()),
                ];
                Ok(self.builder.reduce(callable, args))
            }
            NetDescriptor::Runtime(module) => {
                let callable = self.builder.global(classes::MODELS, "RuntimeModule");
                let args = vec![
                    self.builder.text(module.module()),
                    self.builder.text(module.topology()),
                ];
                Ok(self.builder.reduce(callable, args))
            }
            other => Err(Error::unsupported(format!(
                "the pickle form of `{other}` is not known"
            ))),
        }
    }

    fn task(&mut self, task: &TaskSpec) -> Result<NodeId> {
        let labels = match task.labels() {
            Some(labels) => {
                let labels = labels
                    .iter()
                    .map(|label| self.builder.text(label))
                    .collect();
                self.builder.tuple(labels)
            }
            None => self.builder.none(),
        };
        let values = vec![
            self.builder.interned(task.kind().value()),
            match task.num_outputs() {
                Some(count) => self.count(count),
                None => self.builder.none(),
            },
            match task.ignore_index() {
                Some(index) => self.builder.int(index),
                None => self.builder.none(),
            },
            self.builder.float(task.threshold()),
            labels,
        ];
        self.slotted(classes::TASKS, TaskSpec::CLASS, values, "model_params.task")
    }

    fn precision(&mut self, precision: &PrecisionPolicy) -> Result<NodeId> {
        let values = vec![
            self.builder.interned(precision.mode().value()),
            self.builder.interned(precision.fallback().value()),
        ];
        let class = PrecisionPolicy::CLASS;
        self.slotted(classes::PRECISION, class, values, "model_params.precision")
    }
}
