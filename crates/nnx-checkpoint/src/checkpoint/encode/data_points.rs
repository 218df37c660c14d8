//! Where training stood: the iteration data point and what it holds.

use std::collections::BTreeMap;

use nnx_params::{MonitorRecord, MonitorSpec, NNEvaluationDataPoint, NNIterationDataPoint, Number};

use super::super::{classes, plain};
use super::Encoder;
use crate::error::Result;
use crate::pickle::NodeId;

impl Encoder<'_> {
    pub(super) fn idp(&mut self, idp: &NNIterationDataPoint) -> Result<NodeId> {
        let mut values: Vec<NodeId> = [idp.lr(), idp.iter_idx(), idp.epoch_idx(), idp.batch_idx()]
            .map(|number| self.number(number))
            .into();
        values.push(self.edp(idp.train_edp(), "idp.train_edp")?);
        values.push(self.optional_edp(idp.val_edp(), "idp.val_edp")?);
        values.push(self.optional_edp(idp.train_summary(), "idp.train_summary")?);
        values.push(match idp.selection() {
            Some(record) => self.selection(record),
            None => self.builder.none(),
        });
        values.push(self.optional_number(idp.update_count()));
        let class = NNIterationDataPoint::CLASS;
        self.slotted(classes::NN_ITERATION_DATA_POINT, class, values, "idp")
    }

    fn optional_edp(&mut self, edp: Option<&NNEvaluationDataPoint>, place: &str) -> Result<NodeId> {
        match edp {
            Some(edp) => self.edp(edp, place),
            None => Ok(self.builder.none()),
        }
    }

    fn edp(&mut self, edp: &NNEvaluationDataPoint, place: &str) -> Result<NodeId> {
        let mut values: Vec<NodeId> = [
            edp.f1(),
            edp.recall(),
            edp.accuracy(),
            edp.precision(),
            edp.loss(),
            edp.error(),
        ]
        .map(|number| self.optional_number(number))
        .into();
        values.push(self.frozen_metrics(edp.extra()));
        values.push(match edp.kind() {
            Some(kind) => self.builder.interned(kind),
            None => self.builder.none(),
        });
        values.push(match edp.count() {
            Some(count) => self.builder.big_int(count.into()),
            None => self.builder.none(),
        });
        values.push(match edp.status() {
            Some(status) => self.builder.interned(status),
            None => self.builder.none(),
        });
        values.push(self.frozen_metrics(edp.metrics()));
        let class = NNEvaluationDataPoint::CLASS;
        self.slotted(classes::NN_EVALUATION_DATA_POINT, class, values, place)
    }

    /// A `_FrozenMetrics`: its slots state holds the pairs twice, as a tuple and as a dict.
    fn frozen_metrics(&mut self, metrics: &BTreeMap<String, Number>) -> NodeId {
        let mut items = Vec::new();
        let mut values = Vec::new();
        for (name, &number) in metrics {
            let name = self.builder.interned(name);
            let pair = vec![name, self.number(number)];
            items.push(self.builder.tuple(pair));
            values.push((name, self.number(number)));
        }
        let items = self.builder.tuple(items);
        let values = self.builder.dict(values);
        let slots = vec![
            (self.builder.interned("_items"), items),
            (self.builder.interned("_values"), values),
        ];
        let slots = self.builder.dict(slots);
        let state = vec![self.builder.none(), slots];
        let state = self.builder.tuple(state);
        self.builder
            .instance(classes::NN_EVALUATION_DATA_POINT, "_FrozenMetrics", state)
    }

    /// A `MonitorRecord`, whose state is a dict of its attributes, as is that of its `MonitorSpec`.
    fn selection(&mut self, record: &MonitorRecord) -> NodeId {
        let monitor = plain::dict(&mut self.builder, &record.monitor().state());
        let monitor = self
            .builder
            .instance(classes::MONITORS, MonitorSpec::CLASS, monitor);
        let attributes = vec![
            (self.builder.interned("monitor"), monitor),
            (
                self.builder.interned("value"),
                self.optional_number(record.value()),
            ),
            (
                self.builder.interned("status"),
                self.builder.interned(record.status().value()),
            ),
            (
                self.builder.interned("improved"),
                self.builder.bool(record.improved()),
            ),
        ];
        let attributes = self.builder.dict(attributes);
        self.builder
            .instance(classes::MONITORS, MonitorRecord::CLASS, attributes)
    }
}
