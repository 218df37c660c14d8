//! Changing the values of a variable.

use std::cell::RefCell;

use candle_core::{CpuStorage, InplaceOp1, Layout, Result, Tensor, Var};

/// Calls `change` with the values of a float32 variable in row-major order, and keeps what it makes of
/// them: where they are, if that is possible, or in a copy that is then brought back.
pub(super) fn change<F: FnOnce(&mut [f32])>(var: &Var, change: F) -> Result<()> {
    if var.device().is_cpu() && var.is_contiguous() {
        return var.inplace_op1(&Change(RefCell::new(Some(change))));
    }
    change_copy(var, change)
}

fn change_copy<F: FnOnce(&mut [f32])>(var: &Var, change: F) -> Result<()> {
    let mut values = var.flatten_all()?.to_vec1()?;
    change(&mut values);
    var.set(&Tensor::from_vec(values, var.shape(), var.device())?)
}

struct Change<F>(RefCell<Option<F>>);

impl<F: FnOnce(&mut [f32])> InplaceOp1 for Change<F> {
    fn name(&self) -> &'static str {
        "update"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let CpuStorage::F32(all) = storage else {
            candle_core::bail!("expected float32 values");
        };
        let range = layout.contiguous_offsets();
        let values = range.and_then(|(start, end)| all.get_mut(start..end));
        match (values, self.0.take()) {
            (Some(values), Some(change)) => change(values),
            _ => candle_core::bail!("expected values in row-major order"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device, Var};

    use super::{change, change_copy};

    #[test]
    fn what_is_changed_is_what_the_variable_has() {
        let var = Var::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu).unwrap();
        let net = var.as_tensor().clone();
        let double = |values: &mut [f32]| values.iter_mut().for_each(|value| *value *= 2.0);
        change(&var, double).unwrap();
        assert_eq!(net.to_vec2::<f32>().unwrap(), [[2.0, 4.0], [6.0, 8.0]]);
        change_copy(&var, double).unwrap();
        assert_eq!(net.to_vec2::<f32>().unwrap(), [[4.0, 8.0], [12.0, 16.0]]);
    }

    #[test]
    fn other_types_are_an_error() {
        let var = Var::zeros(3, DType::F64, &Device::Cpu).unwrap();
        for call in [change::<fn(&mut [f32])>, change_copy] {
            assert!(call(&var, |_| panic!("changed")).is_err());
        }
    }
}
