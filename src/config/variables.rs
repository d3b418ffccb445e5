//! `${NAME}`: values of Define, of the environment, and Debian's usual ones.

/// Replaces `${NAME}` by its value, once and without looking into what was put in
/// (`ap_resolve_env`). Names without a value stay as they are and are reported to `unknown`.
pub fn expand(
    line: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
    unknown: &mut dyn FnMut(&str),
) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let name = rest
            .strip_prefix("${")
            .and_then(|r| r.find('}').map(|e| &r[..e]));
        let Some(name) = name else {
            out.push('$');
            rest = &rest[1..];
            continue;
        };
        match lookup(name) {
            Some(value) => {
                out.push_str(&value);
                rest = &rest[name.len() + 3..];
            }
            None => {
                // A colon is what RewriteMap's `${map:key}` looks like: no warning.
                if !name.contains(':') {
                    unknown(name);
                }
                out.push('$');
                rest = &rest[1..];
            }
        }
        if out.len() > super::lexer::MAX_LINE {
            break;
        }
    }
    out.push_str(rest);
    out
}

/// What Debian's `envvars` file gives these names, for a configuration that relies on it.
pub fn debian(name: &str) -> Option<&'static str> {
    Some(match name {
        "APACHE_RUN_USER" | "APACHE_RUN_GROUP" => "www-data",
        "APACHE_RUN_DIR" => "/var/run/apache2",
        "APACHE_PID_FILE" => "/var/run/apache2/apache2.pid",
        "APACHE_LOCK_DIR" => "/var/lock/apache2",
        "APACHE_LOG_DIR" => "/var/log/apache2",
        "APACHE_CONFDIR" => "/etc/apache2",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_in_once_and_unknown_names_stay() {
        let mut missing = Vec::new();
        let lookup = |n: &str| match n {
            "A" => Some("x ${B}".to_string()),
            "B" => Some("b".to_string()),
            _ => None,
        };
        let got = expand(
            r"1 ${A} $A \${B} ${C} ${map:k} ${D${B}} ${",
            &lookup,
            &mut |n| missing.push(n.to_string()),
        );
        assert_eq!(got, r"1 x ${B} $A \b ${C} ${map:k} ${Db} ${");
        assert_eq!(missing, ["C", "D${B"]);
    }
}
