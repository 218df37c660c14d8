//! The declarations and names of a Rust file, as far as they are needed to follow a path to its
//! file.

use std::collections::BTreeSet;

use super::lexer::{Token, tokens};

/// A module of a file: the file itself, or a `mod name { … }` within it. Code of `#[cfg(test)]` is
/// left out, because tests may use the modules that they test.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Parsed {
    pub(super) items: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    /// Paths of two or more segments outside `use` declarations.
    pub(super) paths: Vec<Path>,
    /// Words outside `use` declarations that are not a later part of a path, a field or a method.
    pub(super) words: BTreeSet<String>,
    /// Modules with a file of their own.
    pub(super) file_modules: Vec<String>,
    pub(super) inline_modules: Vec<(String, Parsed)>,
}

/// One name of a `use` declaration.
#[derive(Debug, PartialEq)]
pub(super) struct Import {
    /// The name here; `None` for a glob.
    pub(super) name: Option<String>,
    pub(super) path: Path,
    /// Whether the declaration has a `pub` of any kind.
    pub(super) is_reexport: bool,
}

/// `crate::a::B`, and its line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    pub(super) line: usize,
    pub(super) segments: Vec<String>,
}

/// Reads a file.
pub(super) fn parse(text: &str) -> Parsed {
    let mut parser = Parser {
        tokens: tokens(text),
        at: 0,
    };
    parser.module()
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
}

impl Parser<'_> {
    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    fn is_word(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(Token::is_word)
    }

    /// Reads to the end of the module's braces, or of the file.
    fn module(&mut self) -> Parsed {
        let mut module = Parsed::default();
        let mut depth = 0_usize;
        while self.at < self.tokens.len() {
            match self.text(self.at) {
                "#" => {
                    if self.is_for_tests() {
                        self.skip_item()
                    } else {
                        self.at += 1
                    }
                    continue;
                }
                "{" => depth += 1,
                "}" if depth == 0 => {
                    self.at += 1;
                    break;
                }
                "}" => depth -= 1,
                "mod" if self.is_word(self.at + 1) => {
                    let name = self.text(self.at + 1).to_owned();
                    let behind = self.text(self.at + 2).to_owned();
                    self.at += 3;
                    match behind.as_str() {
                        "{" => module.inline_modules.push((name, self.module())),
                        _ => module.file_modules.push(name),
                    }
                    continue;
                }
                // `use<'a>` in a signature declares nothing.
                "use" if self.text(self.at + 1) != "<" => {
                    self.declaration(&mut module.imports);
                    continue;
                }
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" if depth == 0 => {
                    let name = self.text(self.at + 1);
                    if !matches!(name, "fn" | "unsafe" | "async" | "extern") {
                        module.items.insert(name.to_owned());
                    }
                }
                "macro_rules" => {
                    module.items.insert(self.text(self.at + 2).to_owned());
                }
                _ if self.is_word(self.at) => {
                    self.word(&mut module);
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        module
    }

    /// Whether the attribute here is a `cfg` that applies only to tests.
    fn is_for_tests(&self) -> bool {
        let behind = ["#", "[", "cfg", "("].into_iter();
        let is_cfg = behind
            .zip(self.at..)
            .all(|(text, at)| self.text(at) == text);
        let (first, third) = (self.text(self.at + 4), self.text(self.at + 6));
        is_cfg && (first == "test" || first == "all" && third == "test")
    }

    /// Skips an item: its attributes, and everything to its semicolon or its closing brace.
    fn skip_item(&mut self) {
        while self.text(self.at) == "#" {
            self.at += 1;
            self.skip_braced("[", "]");
        }
        if self.text(self.at) == "pub" {
            self.at += 1;
            if self.text(self.at) == "(" {
                self.skip_braced("(", ")");
            }
        }
        let is_use = self.text(self.at) == "use";
        while self.at < self.tokens.len() {
            match self.text(self.at) {
                ";" => {
                    self.at += 1;
                    return;
                }
                "{" if !is_use => return self.skip_braced("{", "}"),
                "(" => self.skip_braced("(", ")"),
                "[" => self.skip_braced("[", "]"),
                _ => self.at += 1,
            }
        }
    }

    /// Skips from an opening brace to the one that closes it.
    fn skip_braced(&mut self, open: &str, close: &str) {
        let mut depth = 0_usize;
        while self.at < self.tokens.len() {
            let text = self.text(self.at);
            depth += usize::from(text == open);
            depth -= usize::from(text == close);
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    /// A word of code, with the path that begins with it.
    fn word(&mut self, module: &mut Parsed) {
        let before = self.at.checked_sub(1).map_or("", |at| self.text(at));
        let is_part = matches!(before, "::" | ".");
        let line = self.tokens.get(self.at).map_or(0, |token| token.line);
        let mut segments = vec![self.text(self.at).to_owned()];
        self.at += 1;
        while self.text(self.at) == "::" && self.is_word(self.at + 1) {
            segments.push(self.text(self.at + 1).to_owned());
            self.at += 2;
        }
        if is_part {
            return;
        }
        module.words.extend(segments.first().cloned());
        if segments.len() > 1 {
            module.paths.push(Path { line, segments });
        }
    }

    /// A `use` declaration with its semicolon.
    fn declaration(&mut self, imports: &mut Vec<Import>) {
        let before = |back: usize| self.at.checked_sub(back).map_or("", |at| self.text(at));
        // `pub`, `pub(crate)` or `pub(in crate::a::b)`.
        let is_reexport =
            before(1) == "pub" || before(1) == ")" && (3..12).any(|back| before(back) == "pub");
        self.at += 1;
        self.tree(&mut Vec::new(), is_reexport, imports);
        while self.at < self.tokens.len() && self.text(self.at) != ";" {
            self.at += 1;
        }
        self.at += 1;
    }

    /// One branch of a `use` declaration, to the comma, brace or semicolon after it.
    fn tree(&mut self, prefix: &mut Vec<String>, is_reexport: bool, imports: &mut Vec<Import>) {
        let length = prefix.len();
        let line = self.tokens.get(self.at).map_or(0, |token| token.line);
        let mut name = None;
        loop {
            match self.text(self.at) {
                "::" => self.at += 1,
                "{" => {
                    self.at += 1;
                    while !matches!(self.text(self.at), "}" | "") {
                        self.tree(prefix, is_reexport, imports);
                        if self.text(self.at) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    prefix.truncate(length);
                    return;
                }
                "*" => {
                    self.at += 1;
                    name = None;
                    break;
                }
                "as" => {
                    name = Some(self.text(self.at + 1).to_owned());
                    self.at += 2;
                }
                _ if self.is_word(self.at) => {
                    let segment = self.text(self.at).to_owned();
                    if segment == "self" && !prefix.is_empty() {
                        name = prefix.last().cloned();
                    } else {
                        name = Some(segment.clone());
                        prefix.push(segment);
                    }
                    self.at += 1;
                }
                _ => break,
            }
        }
        imports.push(Import {
            name,
            path: Path {
                line,
                segments: prefix.clone(),
            },
            is_reexport,
        });
        prefix.truncate(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(text: &str) -> Vec<(String, String, bool)> {
        let imports = parse(text).imports.into_iter().map(|import| {
            let name = import.name.unwrap_or_else(|| "*".to_owned());
            (name, import.path.segments.join("::"), import.is_reexport)
        });
        imports.collect()
    }

    #[track_caller]
    fn check_imports(text: &str, expected: &[(&str, &str, bool)]) {
        let expected = expected
            .iter()
            .map(|(name, path, public)| ((*name).to_owned(), (*path).to_owned(), *public));
        assert_eq!(imports(text), expected.collect::<Vec<_>>());
    }

    #[test]
    fn declarations_are_taken_apart() {
        check_imports("use a::B;", &[("B", "a::B", false)]);
        check_imports(
            "use super::{c, d::{self, E as F}, g::*};",
            &[
                ("c", "super::c", false),
                ("d", "super::d", false),
                ("F", "super::d::E", false),
                ("*", "super::g", false),
            ],
        );
        check_imports("pub use a::B;", &[("B", "a::B", true)]);
        check_imports("pub(in crate::x) use a::B;", &[("B", "a::B", true)]);
        check_imports("fn a() -> impl X + use<'a> {}", &[]);
    }

    #[test]
    fn items_are_those_of_the_module() {
        let module = parse("pub const fn a() {} const B: u8 = 1; impl C { fn d() {} } mod e;");
        let items: Vec<&str> = module.items.iter().map(String::as_str).collect();
        assert_eq!(items, ["B", "a"]);
        assert_eq!(module.file_modules, ["e"]);
    }

    #[test]
    fn tests_are_left_out() {
        let module = parse(
            "#[cfg(test)] use a::{b}; #[cfg(test)] #[expect(x)] mod tests { use c::d; }\n\
             #[cfg(all(test, feature = \"e\"))] fn f() { crate::g::h() } #[cfg(unix)] use i::j;\n\
             #[cfg(test)] mod tests;",
        );
        assert_eq!(module.imports.len(), 1);
        assert_eq!(module.imports[0].name.as_deref(), Some("j"));
        assert!(module.inline_modules.is_empty() && module.file_modules.is_empty());
        assert!(module.paths.is_empty());
    }

    #[test]
    fn paths_in_code_and_attributes_are_found() {
        let module = parse("#[j(k::l)] fn a() {\n b::c(super::d::<E>(), f.g::<h::I>());\n}");
        let paths = module.paths.iter();
        let paths: Vec<_> = paths
            .map(|path| (path.line, path.segments.join("::")))
            .collect();
        let expected = [(1, "k::l"), (2, "b::c"), (2, "super::d"), (2, "h::I")];
        assert_eq!(paths, expected.map(|(line, path)| (line, path.to_owned())));
        assert!(module.words.contains("f") && !module.words.contains("g"));
    }

    #[test]
    fn modules_within_a_file_are_kept_apart() {
        let module = parse("mod a { use b::C; fn d() {} } fn e() {}");
        let (name, inner) = &module.inline_modules[0];
        assert_eq!(name, "a");
        assert_eq!(inner.imports.len(), 1);
        assert!(inner.items.contains("d") && module.items.contains("e"));
    }
}
