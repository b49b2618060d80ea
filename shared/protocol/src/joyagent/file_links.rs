//! Links to session files in Markdown, for a page without adjacent files.

use std::collections::BTreeMap;

/// The text between a link's label and its address.
const ADDRESS: &str = "](";

/// Folders often put by models before a file's name.
const FOLDERS: [&str; 3] = ["sandbox:/mnt/data/", "/mnt/data/", "./"];

/// Returns Markdown with the links and images to known files replaced by `urls`.
pub(super) fn link_files(text: &str, urls: &BTreeMap<String, String>) -> String {
    let mut parts = text.split(ADDRESS);
    let mut output = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        output.push_str(ADDRESS);
        let (address, rest) = split_address(part);
        let bare = address.trim_matches(['<', '>']);
        let name = FOLDERS.iter().find_map(|folder| bare.strip_prefix(folder)).unwrap_or(bare);
        let url = urls.get(name).or_else(|| urls.get(&percent_decode(name)?));
        output.push_str(url.map_or(address, String::as_str));
        output.push_str(rest);
    }
    output
}

/// Splits a Markdown address from the text after: a title, or the end of the link. A name may contain spaces
/// and parentheses.
fn split_address(text: &str) -> (&str, &str) {
    let end = if text.starts_with('<') {
        text.find('>').map(|end| end + 1)
    } else {
        let mut depth = 0;
        let line = text.split('\n').next().unwrap_or_default();
        let title = [" \"", " '"].iter().filter_map(|quote| line.find(quote)).min();
        let end = line.char_indices().find(|(_, character)| {
            match character {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            depth < 0
        });
        title.into_iter().chain(end.map(|(at, _)| at)).min()
    };
    end.and_then(|end| text.split_at_checked(end)).unwrap_or(("", text))
}

/// Decodes percent-encoded bytes; `None` if the result is not UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files_of_the_session_lead_to_them() {
        let files = ["a.png", "金价 图.png", "a (2).png"];
        let urls = files.map(|name| (name.to_owned(), format!("u:{}", name.len())));
        let urls = BTreeMap::from(urls);
        for (text, linked) in [
            ("![x](a.png) [y](a.png)", "![x](u:5) [y](u:5)"),
            ("![x](./a.png \"t\") z", "![x](u:5 \"t\") z"),
            ("![x](<a.png>)", "![x](u:5)"),
            ("![x](sandbox:/mnt/data/a.png)", "![x](u:5)"),
            ("![x](%E9%87%91%E4%BB%B7%20%E5%9B%BE.png)", "![x](u:14)"),
            ("![x](金价 图.png)", "![x](u:14)"),
            ("(![x](a (2).png))", "(![x](u:9))"),
            ("![x](b.png) [x](https://a.png)", "![x](b.png) [x](https://a.png)"),
            ("![x](a.png", "![x](a.png"),
            ("![x](%E9) %", "![x](%E9) %"),
        ] {
            assert_eq!(link_files(text, &urls), linked);
        }
    }
}
