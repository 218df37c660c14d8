//! The outputs and targets of a batch as a task sees them.

use candle_core::{DType, Tensor};
use nnx_params::{Losses, TaskKind, TaskSpec};

use crate::error::{Error, Result};
use crate::inputs::dtype_name;
use crate::loss::{
    LossTerms, NllInput, binary_elements, class_indices, classes_last, loss_terms, mean_of, nothing,
};

/// Outputs and targets that go with a task.
#[derive(Debug)]
pub(super) struct TaskBatch {
    kind: TaskKind,
    /// Categorical: a row of classes for each target that counts; otherwise as the net gives them.
    pub(super) logits: Tensor,
    /// Categorical: the classes that count, int64; otherwise floats in the shape of the logits, NaN
    /// where one does not count.
    pub(super) targets: Tensor,
    /// The number of targets that count.
    pub(super) count: usize,
}

impl TaskBatch {
    /// Checks the targets of a batch, and finds those that count.
    ///
    /// # Errors
    /// When the targets do not go with the task or the logits.
    pub(super) fn new(
        task: &TaskSpec,
        loss: Losses,
        logits: &Tensor,
        targets: &Tensor,
    ) -> Result<Self> {
        let (kind, rule) = (task.kind(), Rule(task));
        if logits.rank() < 2 {
            return Err(rule.wrong("outputs `[N, C]`", format!("`{:?}`", logits.dims())));
        }
        rule.check_width(logits.dim(1)?)?;
        match kind {
            TaskKind::Categorical => rule.classes(loss, logits, targets),
            TaskKind::Multilabel => rule.labels(logits, targets),
            TaskKind::Regression => rule.numbers(logits, targets),
        }
    }

    /// The loss over the targets that count. It can be differentiated.
    ///
    /// # Errors
    /// When candle fails.
    pub(super) fn loss_terms(&self, loss: Losses, nll: NllInput) -> Result<LossTerms> {
        if self.count == 0 {
            return nothing(&self.logits);
        }
        if self.kind == TaskKind::Categorical || self.count == self.targets.elem_count() {
            return loss_terms(loss, &self.logits, &self.targets, nll);
        }
        let targets = self.targets.to_dtype(DType::F32)?;
        let is_masked = targets.ne(&targets)?;
        let filled = is_masked.where_cond(&targets.zeros_like()?, &targets)?;
        let elements = match self.kind {
            TaskKind::Regression => (&self.logits - filled)?.sqr()?,
            _ => binary_elements(&self.logits, &filled)?,
        };
        let kept = is_masked.where_cond(&elements.zeros_like()?, &elements)?;
        let sum = kept.sum_all()?;
        Ok(LossTerms {
            // Masked losses are summed, not taken back from their mean.
            numerator: sum.clone(),
            ..mean_of(&sum, self.count)?
        })
    }
}

/// The checks of a task on logits and targets.
struct Rule<'a>(&'a TaskSpec);

impl Rule<'_> {
    fn classes(&self, loss: Losses, logits: &Tensor, targets: &Tensor) -> Result<TaskBatch> {
        let classes = logits.dim(1)?;
        let mut table = classes_last(logits)?.reshape(((), classes))?;
        let indices = class_indices(loss, targets)?;
        let places: Vec<usize> = (0..logits.rank())
            .filter(|axis| *axis != 1)
            .map(|axis| logits.dims()[axis])
            .collect();
        if classes < 2 || targets.dims() != places {
            let found = format!(
                "`{:?}` beside outputs `{:?}`",
                targets.dims(),
                logits.dims()
            );
            return Err(self.wrong("one class index an output of at least `2` classes", found));
        }
        let ignored = self.0.ignore_index();
        let (mut rows, mut truth) = (Vec::new(), Vec::new());
        for (row, index) in (0_u32..).zip(indices) {
            if Some(index) == ignored {
                continue;
            }
            if !usize::try_from(index).is_ok_and(|index| index < classes) {
                let expected = format!("class indices from `0` to `{}`", classes - 1);
                return Err(self.wrong(&expected, format!("the index `{index}`")));
            }
            rows.push(row);
            truth.push(index);
        }
        let count = truth.len();
        if 0 < count && count < table.dim(0)? {
            table = table.index_select(&Tensor::new(rows, table.device())?, 0)?;
        }
        Ok(TaskBatch {
            kind: TaskKind::Categorical,
            targets: Tensor::from_vec(truth, count, table.device())?,
            logits: table,
            count,
        })
    }

    fn labels(&self, logits: &Tensor, targets: &Tensor) -> Result<TaskBatch> {
        self.check_shape(logits, targets)?;
        let targets = targets.to_dtype(DType::F32)?;
        let values = targets.flatten_all()?.to_vec1::<f32>()?;
        if let Some(odd) = values
            .iter()
            .find(|value| !(value.is_nan() || **value == 0.0 || **value == 1.0))
        {
            return Err(self.wrong("targets `0`, `1` or NaN", format!("`{odd}`")));
        }
        Ok(TaskBatch {
            kind: TaskKind::Multilabel,
            logits: logits.clone(),
            targets,
            count: values.iter().filter(|value| !value.is_nan()).count(),
        })
    }

    fn numbers(&self, logits: &Tensor, targets: &Tensor) -> Result<TaskBatch> {
        if !targets.dtype().is_float() {
            let found = format!("the dtype `{}`", dtype_name(targets.dtype()));
            return Err(self.wrong("float targets", found));
        }
        let one_column = targets.rank() == 1 && logits.dims() == [targets.dim(0)?, 1];
        let targets = if one_column {
            targets.unsqueeze(1)?
        } else {
            targets.clone()
        };
        self.check_shape(logits, &targets)?;
        let values = targets.flatten_all()?.to_dtype(DType::F64)?;
        let values = values.to_vec1::<f64>()?;
        if values.iter().any(|value| value.is_infinite()) {
            return Err(self.wrong("finite targets or NaN", "an infinite one".to_owned()));
        }
        Ok(TaskBatch {
            kind: TaskKind::Regression,
            logits: logits.clone(),
            targets,
            count: values.iter().filter(|value| !value.is_nan()).count(),
        })
    }

    fn check_width(&self, width: usize) -> Result<()> {
        match self.0.num_outputs() {
            Some(declared) if declared != width => {
                Err(self.wrong(&format!("`{declared}` outputs"), format!("`{width}`")))
            }
            _ => Ok(()),
        }
    }

    fn check_shape(&self, logits: &Tensor, targets: &Tensor) -> Result<()> {
        if targets.dims() == logits.dims() {
            return Ok(());
        }
        let expected = format!("targets of shape `{:?}`", logits.dims());
        Err(self.wrong(&expected, format!("`{:?}`", targets.dims())))
    }

    #[cold]
    fn wrong(&self, expected: &str, found: String) -> Error {
        Error::configuration(format!(
            "a {} task takes {expected}, got {found}",
            self.0.kind()
        ))
    }
}
