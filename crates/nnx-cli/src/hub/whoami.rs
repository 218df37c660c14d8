//! `nnx whoami`: shows the user that the token belongs to.

use nnx::hub::Hub;
use serde::Serialize;

use crate::arguments::hub::Whoami;
use crate::escape::escaped;
use crate::failure::Failure;
use crate::json;
use crate::outcome::Outcome;

#[derive(Serialize)]
struct WhoamiReport {
    name: String,
    organizations: Vec<String>,
    role: Option<String>,
    endpoint: String,
}

pub(super) fn run(arguments: &Whoami) -> Result<Outcome, Failure> {
    let hub = Hub::from_env()?;
    let who = hub.whoami()?;
    let report = WhoamiReport {
        name: who.name,
        organizations: who.organizations,
        role: who.role,
        endpoint: hub.endpoint().to_owned(),
    };
    Ok(Outcome::success(if arguments.json {
        json::object(&report)
    } else {
        let mut text = format!("{}\n", escaped(&report.name));
        if !report.organizations.is_empty() {
            text.push_str(&format!(
                "organizations: {}\n",
                escaped(&report.organizations.join(", "))
            ));
        }
        if let Some(role) = &report.role {
            text.push_str(&format!("token: {}\n", escaped(role)));
        }
        text
    }))
}
