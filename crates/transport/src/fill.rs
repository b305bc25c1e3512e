//! Placeholders in a command's arguments.

/// Fills `{key}` in every argument of `template`. What is filled in is never searched again, and each argument
/// stays one argument; braces around an unknown word stay as they are.
pub fn fill<K: AsRef<str>>(template: &[String], values: &[(K, String)]) -> Vec<String> {
    template.iter().map(|argument| fill_one(argument, values)).collect()
}

fn fill_one<K: AsRef<str>>(argument: &str, values: &[(K, String)]) -> String {
    let mut filled = String::with_capacity(argument.len());
    let mut rest = argument;
    while let Some(open) = rest.find('{') {
        let (before, from_brace) = rest.split_at(open);
        filled.push_str(before);
        let found = values.iter().find_map(|(key, value)| {
            let behind = from_brace.strip_prefix('{')?.strip_prefix(key.as_ref())?.strip_prefix('}')?;
            Some((value, behind))
        });
        match found {
            Some((value, behind)) => {
                filled.push_str(value);
                rest = behind;
            }
            None => {
                filled.push('{');
                rest = &from_brace[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_filled_in_once() {
        let values = [("name", "{text}".to_owned()), ("text", "a b; c".to_owned())];
        for (template, filled) in [
            ("{name}", "{text}"),
            ("-m={text}!", "-m=a b; c!"),
            ("{other} {name", "{other} {name"),
            ("{{text}}", "{a b; c}"),
            ("小{text}", "小a b; c"),
        ] {
            assert_eq!(fill(&[template.to_owned()], &values), [filled], "{template}");
        }
    }
}
