//! A request and its answer, with the faults that it meets.

use std::sync::Arc;

use crate::fault::Action;
use crate::hash::sha256;
use crate::message::{Asked, Delivery, Origin, Reply, Seen};
use crate::routes;
use crate::state::HubState;
use crate::xet;

impl HubState {
    /// Works on a request.
    pub(crate) fn answer(&self, asked: &Asked) -> Reply {
        let actions: Vec<Action> = {
            let mut inner = self.inner.lock().unwrap();
            let faults = inner.faults.iter_mut();
            let met = faults.filter_map(|fault| fault.takes(asked).then(|| fault.action.clone()));
            met.collect()
        };
        let instead = actions.iter().find_map(Action::instead);
        let mut reply = match instead {
            Some(reply) => reply,
            None if asked.origin == Origin::Xet => {
                let store = {
                    let inner = self.inner.lock().unwrap();
                    inner.xet.as_ref().map(|xet| Arc::clone(&xet.store))
                };
                xet::pass(&*store.expect("its address is that of a store"), asked)
            }
            None => {
                // Large files are hashed here, where others need not wait.
                let hash = match (asked.origin, asked.method.as_str()) {
                    (Origin::Store, "PUT") => sha256(&asked.body),
                    _ => String::new(),
                };
                let mut inner = self.inner.lock().unwrap();
                routes::route(&mut inner, asked, &hash).unwrap_or_else(|refusal| refusal)
            }
        };
        for action in &actions {
            action.apply(&mut reply);
        }
        let dropped = reply.delivery == Delivery::Dropped;
        self.inner.lock().unwrap().seen.push(Seen {
            hub: asked.origin == Origin::Hub,
            xet: asked.origin == Origin::Xet,
            method: asked.method.clone(),
            target: asked.target.clone(),
            token: asked.header("authorization").is_some(),
            sent: asked.body.len(),
            received: reply.body.len(),
            range: asked.header("range").map(str::to_owned),
            status: if dropped { 0 } else { reply.status },
        });
        reply
    }
}
