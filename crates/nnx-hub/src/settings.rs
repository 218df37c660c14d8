//! The settings that the `hf` tools read from variables and files: endpoint, token, cache.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::proxies::Proxies;
use crate::token::Token;

/// The address of the public Hub.
pub(crate) const DEFAULT_ENDPOINT: &str = "https://huggingface.co";

/// The default of `HF_HUB_DOWNLOAD_TIMEOUT`: how long a connection may be silent.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// The settings of the client, read from the variables and files of the `hf` tools.
///
/// | variable | what |
/// |---|---|
/// | `HF_ENDPOINT` | the Hub's address |
/// | `HF_TOKEN`, `HUGGING_FACE_HUB_TOKEN` | the token |
/// | `HF_TOKEN_PATH` | the file that `hf auth login` writes it to, by default `$HF_HOME/token` |
/// | `HF_HUB_DISABLE_IMPLICIT_TOKEN` | send no token that was not given in the program |
/// | `HF_HOME`, `XDG_CACHE_HOME` | the folder of all these files, by default `~/.cache/huggingface` |
/// | `HF_HUB_CACHE`, `HUGGINGFACE_HUB_CACHE` | the cache, by default `$HF_HOME/hub` |
/// | `HF_HUB_DISABLE_SYMLINKS` | put files into the cache instead of symbolic links |
/// | `HF_HUB_OFFLINE`, `TRANSFORMERS_OFFLINE` | use only the cache |
/// | `HF_HUB_DISABLE_XET` | transfer large files without Xet (feature `xet`) |
/// | `HF_XET_CACHE` | the folder in which Xet remembers the parts that it sent, by default `$HF_HOME/xet` |
/// | `HF_HUB_DOWNLOAD_TIMEOUT` | seconds of silence, by default 30 |
/// | `SSL_CERT_FILE` | the certificates to trust, as PEM, in the place of Mozilla's list |
/// | `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY` | the way to the network; see [`Proxies`] |
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The Hub's address, without a slash at its end.
    pub endpoint: String,
    /// The token, if there is one.
    pub token: Option<Token>,
    /// The folder of the cache; `None` if no variable names it and there is no home folder.
    pub cache_dir: Option<PathBuf>,
    /// Whether the cache uses symbolic links where the file system supports them.
    pub symlinks: bool,
    /// Whether only the cache is used.
    pub offline: bool,
    /// Whether large files are transferred by way of Xet, if the crate has the feature `xet` and the
    /// Hub keeps them there.
    pub xet: bool,
    /// The folder in which Xet remembers the parts that it sent; `None` if no variable names it and there
    /// is no home folder, and then Xet is not used.
    pub xet_cache_dir: Option<PathBuf>,
    /// How long a connection may be silent.
    pub timeout: Duration,
    /// The file of certificates to trust, as PEM, in place of Mozilla's list.
    pub certificates: Option<PathBuf>,
    /// The proxies.
    pub proxies: Proxies,
}

impl Settings {
    /// Reads the settings from the environment of this process. Without `HOME`, the home folder is
    /// the one that the system has for the user.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`] when a variable has no usable value, [`ErrorKind::Io`] when the file of
    /// the token cannot be read.
    pub fn from_env() -> Result<Self> {
        Self::from_variables(&|name| match (name, std::env::var(name).ok()) {
            ("HOME", None) => std::env::home_dir()?.into_os_string().into_string().ok(),
            (_, value) => value,
        })
    }

    /// Reads the settings from the given variables.
    ///
    /// # Errors
    /// As for [`from_env`](Self::from_env).
    pub fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let home = || {
            let home = variable("HOME").or_else(|| variable("USERPROFILE"));
            home.filter(|home| !home.is_empty())
        };
        // A path below the home folder is `None` if there is no home folder.
        let path = |text: String| -> Option<PathBuf> {
            let text = expand(&text, variable);
            match text.strip_prefix("~/") {
                Some(rest) => Some(PathBuf::from(home()?).join(rest)),
                None => Some(PathBuf::from(text)),
            }
        };
        let hf_home = || match (variable("HF_HOME"), variable("XDG_CACHE_HOME")) {
            (Some(hf), _) => path(hf),
            (None, Some(cache)) => Some(path(cache)?.join("huggingface")),
            (None, None) => path("~/.cache/huggingface".to_owned()),
        };
        let cache = variable("HF_HUB_CACHE").or_else(|| variable("HUGGINGFACE_HUB_CACHE"));
        let endpoint = variable("HF_ENDPOINT").unwrap_or_default();
        let endpoint = endpoint.trim().trim_end_matches('/');
        let endpoint = if endpoint.is_empty() {
            DEFAULT_ENDPOINT
        } else {
            endpoint
        };
        let authority = endpoint.split("://").nth(1).unwrap_or(endpoint);
        if authority
            .split('/')
            .next()
            .is_some_and(|it| it.contains('@'))
        {
            return Err(Error::from(ErrorKind::Settings {
                what: "`HF_ENDPOINT` contains a user name or password, which messages would \
                       show; use a token instead"
                    .to_owned(),
            }));
        }
        let timeout = variable("HF_HUB_DOWNLOAD_TIMEOUT").and_then(|text| text.parse().ok());
        Ok(Self {
            endpoint: endpoint.to_owned(),
            token: token(variable, &|| match variable("HF_TOKEN_PATH") {
                Some(file) => path(file),
                None => Some(hf_home()?.join("token")),
            })?,
            cache_dir: match cache {
                Some(cache) => path(cache),
                None => hf_home().map(|home| home.join("hub")),
            },
            symlinks: !is_true(variable("HF_HUB_DISABLE_SYMLINKS")),
            offline: is_true(
                variable("HF_HUB_OFFLINE").or_else(|| variable("TRANSFORMERS_OFFLINE")),
            ),
            xet: !is_true(variable("HF_HUB_DISABLE_XET")),
            xet_cache_dir: match variable("HF_XET_CACHE") {
                Some(cache) => path(cache),
                None => hf_home().map(|home| home.join("xet")),
            },
            timeout: timeout.map_or(DEFAULT_TIMEOUT, Duration::from_secs),
            certificates: variable("SSL_CERT_FILE")
                .filter(|file| !file.is_empty())
                .map(PathBuf::from),
            proxies: Proxies::from_variables(variable),
        })
    }
}

fn token(
    variable: &dyn Fn(&str) -> Option<String>,
    file: &dyn Fn() -> Option<PathBuf>,
) -> Result<Option<Token>> {
    if is_true(variable("HF_HUB_DISABLE_IMPLICIT_TOKEN")) {
        return Ok(None);
    }
    for name in ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"] {
        let token = Token::new(&variable(name).unwrap_or_default())?;
        if !token.is_empty() {
            return Ok(Some(token));
        }
    }
    let Some(file) = file() else {
        return Ok(None);
    };
    let token = Token::new(&read_if_there(&file)?)?;
    Ok(Some(token).filter(|token| !token.is_empty()))
}

fn read_if_there(path: &Path) -> Result<String> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Error::io(path, error)),
    }
}

/// Whether the `hf` tools read the value as true.
fn is_true(value: Option<String>) -> bool {
    value.is_some_and(|value| {
        ["1", "ON", "YES", "TRUE"].contains(&value.to_ascii_uppercase().as_str())
    })
}

/// Replaces `$NAME` and `${NAME}` by their values; a name without a value is unchanged.
fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let braced = after
            .strip_prefix('{')
            .and_then(|after| after.split_once('}'));
        let (name, behind) = braced.unwrap_or_else(|| {
            let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
            after.split_at(after.find(is_end).unwrap_or(after.len()))
        });
        match variable(name) {
            Some(value) if !name.is_empty() => {
                out.push_str(&value);
                rest = behind;
            }
            _ => {
                out.push('$');
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        let find = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Settings::from_variables(&find).unwrap()
    }

    #[test]
    fn an_endpoint_with_a_password_is_refused_without_it() {
        let find = |name: &str| {
            let endpoint = "http://user:hunter2@localhost/x".to_owned();
            (name == "HF_ENDPOINT").then_some(endpoint)
        };
        let error = Settings::from_variables(&find).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        let plain = [("HOME", "/h"), ("HF_ENDPOINT", "http://localhost/a@b")];
        assert_eq!(settings(&plain).endpoint, "http://localhost/a@b");
    }

    #[track_caller]
    fn check_cache(variables: &[(&str, &str)], expected: &str) {
        let found = settings(variables).cache_dir.unwrap();
        assert_eq!(found, Path::new(expected));
    }

    #[test]
    fn without_a_home_folder_the_rest_is_there() {
        let nothing = settings(&[]);
        assert_eq!((nothing.cache_dir, nothing.token), (None, None));
        assert_eq!(settings(&[("HF_HOME", "~/x")]).cache_dir, None);
        check_cache(&[("HF_HUB_CACHE", "/c")], "/c");
        let token = settings(&[("HF_TOKEN", "hf_var")]).token;
        assert_eq!(token, Some(Token::new("hf_var").unwrap()));
    }

    #[test]
    fn the_cache_is_where_the_hf_tools_have_it() {
        check_cache(&[("HOME", "/h")], "/h/.cache/huggingface/hub");
        check_cache(
            &[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")],
            "/x/huggingface/hub",
        );
        check_cache(&[("HF_HOME", "/hf"), ("XDG_CACHE_HOME", "/x")], "/hf/hub");
        check_cache(&[("HF_HOME", "/hf"), ("HUGGINGFACE_HUB_CACHE", "/c")], "/c");
        check_cache(
            &[("HF_HOME", "/hf"), ("HF_HUB_CACHE", "~/c"), ("HOME", "/h")],
            "/h/c",
        );
        check_cache(
            &[("HF_HOME", "$A/${B}/$C"), ("A", "/a"), ("B", "b")],
            "/a/b/$C/hub",
        );
    }

    #[test]
    fn xet_keeps_its_files_where_the_hf_tools_have_them() {
        let home = ("HOME", "/h");
        let found = |variables: &[(&str, &str)]| settings(variables).xet_cache_dir;
        let expected = |path: &str| Some(PathBuf::from(path));
        assert_eq!(found(&[home]), expected("/h/.cache/huggingface/xet"));
        assert_eq!(found(&[home, ("HF_HOME", "/hf")]), expected("/hf/xet"));
        assert_eq!(found(&[home, ("HF_XET_CACHE", "~/x")]), expected("/h/x"));
        assert_eq!(found(&[]), None);
        assert!(settings(&[home]).xet);
        assert!(!settings(&[home, ("HF_HUB_DISABLE_XET", "1")]).xet);
    }

    #[test]
    fn the_token_is_found_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap();
        assert_eq!(settings(&[("HF_HOME", home)]).token, None);
        std::fs::write(folder.path().join("token"), "hf_file\n").unwrap();
        let of_file = settings(&[("HF_HOME", home)]).token.unwrap();
        assert_eq!(of_file, Token::new("hf_file").unwrap());
        let of_variable = settings(&[("HF_HOME", home), ("HF_TOKEN", " hf_var \n")]);
        assert_eq!(of_variable.token, Some(Token::new("hf_var").unwrap()));
        assert!(!format!("{of_variable:?}").contains("hf_var"));
        let disabled = [("HF_HOME", home), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")];
        assert_eq!(settings(&disabled).token, None);
    }

    #[test]
    fn the_endpoint_has_no_slash_at_its_end() {
        let home = ("HF_HOME", "/hf");
        assert_eq!(settings(&[home]).endpoint, DEFAULT_ENDPOINT);
        let own = settings(&[
            home,
            ("HF_ENDPOINT", "http://127.0.0.1:8/"),
            ("HF_HUB_OFFLINE", "yes"),
        ]);
        assert_eq!(
            (own.endpoint.as_str(), own.offline),
            ("http://127.0.0.1:8", true)
        );
    }
}
