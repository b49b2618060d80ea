use djinn_outside::{HttpTool, check_tool_name};

use super::{GOOD, read};

/// A file that is [`GOOD`] with one text in place of another, and the first problem without the path.
const REPLACEMENTS: &[(&str, &str, &str)] = &[
    ("description = \"Changes a room.\"\n", "", "1: `description` is missing"),
    (
        "\"Changes a room.\"",
        "\" \"",
        "1: `description` must be a text of at most 1000 characters, got `\" \"`",
    ),
    (
        "\"Changes a room.\"",
        "3",
        "1: `description` must be a text of at most 1000 characters, got `3`",
    ),
    ("trust = \"all\"\n", "", "1: `trust` is missing: \"none\", \"reads\" or \"all\""),
    ("\"all\"", "\"some\"", "2: `trust` must be \"none\", \"reads\" or \"all\", got `\"some\"`"),
    ("\"all\"", "\"reads\"", "2: `trust` is \"reads\", but `effect` is not \"read\""),
    ("\"all\"", "\"all\"\neffect = \"read\"", "18: `effect` is \"read\", but the method is PUT"),
    (
        "\"all\"",
        "\"all\"\neffect = \"reads\"",
        "3: `effect` must be \"read\", \"idempotent\" or \"once\"",
    ),
    ("\"all\"", "\"all\"\nrisk = 3", "3: `risk` must be \"low\", \"medium\" or \"high\", got `3`"),
    (
        "\"all\"",
        "\"all\"\ntimeout_s = 0",
        "3: `timeout_s` must be a whole number from 1 to 300, got `0`",
    ),
    (
        "\"all\"",
        "\"all\"\ntimeout_s = 301",
        "3: `timeout_s` must be a whole number from 1 to 300, got `301`",
    ),
    ("\"all\"", "\"all\"\ntimeout_s = 1.5", "3: `timeout_s` must be a whole number from 1 to 300"),
    ("\"all\"", "\"all\"\nvisible = 1", "3: `visible` must be true or false, got `1`"),
    ("\"all\"", "\"all\"\nenabled = \"no\"", "3: `enabled` must be true or false, got `\"no\"`"),
    ("\"all\"", "\"all\"\ntimeout = 3", "3: `timeout` is not a field: did you mean `timeout_s`?"),
    ("\"all\"", "\"all\"\nsecret = 3", "3: `secret` is not a field: there are description, "),
    ("\"all\"", "\"all\"\noffer = []", "3: `offer` must be a table, got `[]`"),
    (
        "\"all\"",
        "\"all\"\noffer = { modes = \"react\" }",
        "3: `offer.modes` must be a list of names",
    ),
    (
        "\"all\"",
        "\"all\"\noffer = { agents = [] }",
        "3: `offer.agents` must be a list of names, got `[]`",
    ),
    (
        "\"all\"",
        "\"all\"\noffer = { mode = [\"react\"] }",
        "3: `offer.mode` is not a field: did you mean `offer.modes`?",
    ),
    ("\"all\"", "\"all\"\ntrust = \"none\"", "3: duplicate key"),
    ("type = \"object\"\n", "", "4: `parameters.type` must be \"object\""),
    ("\"part\"]", "\"parts\"]", "4: `parameters.required` names `parts`, which is no property"),
    ("[\"id\", \"part\"]", "\"id\"", "4: `parameters.required` must be a list of names"),
    ("\nid = { type = \"string\" }", "\nid = 3", "4: `parameters.properties.id` must be a schema"),
    (
        "\nid = { type = \"string\" }",
        "\nid = { \"$ref\" = \"https://a.test/s\" }",
        "4: `parameters` refers to `https://a.test/s`",
    ),
    (
        "\nid = { type = \"string\" }",
        "\nid = { type = \"array\" }",
        "18: `request.url` has `{id}`, but the parameter is of type array",
    ),
    (
        "[\"id\", \"part\"]",
        "[\"id\"]",
        "18: `request.url` needs `{part}`, which `parameters.required` lacks",
    ),
    (
        "\nsize = {}",
        "\nsize = {}\n\"a}\" = {}",
        "4: `parameters.properties` has `a}`, which no placeholder can name",
    ),
    ("\nsize = {}", "\nsize = {}\nheight = {}", "17: the parameter `height` is used nowhere"),
    (
        "method = \"PUT\"\n",
        "",
        "16: `request.method` is missing: \"GET\", \"POST\", \"PUT\", \"PATCH\" or \"DELETE\"",
    ),
    ("\"PUT\"", "\"put\"", "17: `request.method` must be \"GET\""),
    ("\"PUT\"", "\"{id}\"", "17: `request.method` must be \"GET\""),
    ("\"PUT\"", "\"GET\"", "21: `request.body` is set, but the method is GET"),
    ("https://api", "ftp://api", "18: `request.url` must begin with https:// or http://"),
    ("https://api", "file:///api", "18: `request.url` must begin with https:// or http://"),
    ("https://api", "//api", "18: `request.url` must begin with https:// or http://"),
    ("https://api", "https://{id}", "18: `request.url` has a placeholder in its host"),
    (":8443/", ":{part}/", "18: `request.url` has a placeholder in its host"),
    (":8443/", ":99999/", "18: `request.url` is no URL: invalid port number"),
    ("api.example.com:8443", "", "18: `request.url` is no URL: empty host"),
    ("https://api", "https://user:pass@api", "18: `request.url` has a user or a password"),
    ("x-{part}\"", "x-{part}?units=m\"", "18: `request.url` has a query"),
    ("x-{part}\"", "x-{part}#top\"", "18: `request.url` has a fragment"),
    ("x-{part}\"", "x {part}\"", "18: `request.url` has a space"),
    ("x-{part}\"", "%2{part}\"", "18: `request.url` has a `%` without two hex digits"),
    ("/v1/rooms/", "/v1/../", "18: `request.url` has `.` or `..` as a segment"),
    ("/v1/rooms/", "/v1/%2E%2e/", "18: `request.url` has `.` or `..` as a segment"),
    (
        "/v1/rooms/",
        "/v1\\\\rooms/",
        "18: `request.url` has a space, a control character or a backslash",
    ),
    ("/v1/rooms/", "/{key:ROOMS}/", "18: `request.url` has a key"),
    ("/v1/rooms/", "/{room}/", "18: `request.url` has `{room}`, which is no parameter"),
    (
        "/v1/rooms/",
        "/{unit}/",
        "18: `request.url` has `{unit}`, which is no parameter: did you mean `{units}`?",
    ),
    ("/v1/rooms/", "/{/", "18: `request.url` is wrong: a `{` has no `}`"),
    (
        "\"{units}\"",
        "\"{uints}\"",
        "19: `request.query.units` has `{uints}`, which is no parameter",
    ),
    (
        "\"{units}\"",
        "\"{key:ROOMS}\"",
        "19: `request.query.units` has `{key:ROOMS}`: a key may only be",
    ),
    ("\"{units}\"", "[]", "19: `request.query.units` must be a text, a number or a boolean"),
    (
        "units = \"{units}\"",
        "\"{units}\" = \"{units}\"",
        "19: `request.query.{units}` has a placeholder",
    ),
    ("{key:ROOMS}", "{id}", "20: `request.headers.Authorization` has a parameter"),
    (
        "{key:ROOMS}",
        "{key:RO OMS}",
        "20: `request.headers.Authorization`: `{key:RO OMS}` names no key",
    ),
    (
        "{key:ROOMS}",
        "{user_key:RO.OMS}",
        "20: `request.headers.Authorization`: `{user_key:RO.OMS}` names no key",
    ),
    (
        "{key:ROOMS}",
        "{user_key:A}{user_key:A}{user_key:B}",
        "20: `request.headers.Authorization` has `{user_key:B}`: a request has at most one key of the caller",
    ),
    (
        "{key:ROOMS}",
        "a\\r\\nX: b",
        "20: `request.headers.Authorization` must consist of visible ASCII",
    ),
    ("Accept =", "Host =", "20: `request.headers.Host` is a header that a call sets itself"),
    ("Accept =", "authorization =", "20: `request.headers."),
    ("Accept =", "\"A b\" =", "20: `request.headers.A b` is no name of a header"),
    ("size = \"{size}\",", "\"{size}\" = 1,", "21: `request.body`: `{size}` has a placeholder"),
    ("\"{{x}}\"", "\"{x\"", "21: `request.body`: a `{` has no `}`"),
    ("\"{{x}}\"", "\"{key:ROOMS}\"", "21: `request.body` has `{key:ROOMS}`: a key may only be"),
    ("\"{{x}}\"", "\"{user_key:A}\"", "21: `request.body` has `{user_key:A}`: a key may only be"),
    ("/v1/rooms/", "/{user_key:A}/", "18: `request.url` has a key"),
    ("\"{{x}}\"", "nan", "21: `request.body` must be a value that JSON has"),
    ("\"/data\"", "\"data\"", "24: `result.pointer` must be a JSON pointer"),
    ("\"/data\"", "\"/a~2\"", "24: `result.pointer` must be a JSON pointer"),
    (
        "\"/data\"",
        "\"/error/message\"",
        "25: `result.pointer` and `result.error_pointer` are the same",
    ),
    ("pointer = \"/code\",", "", "26: `result.interrupts.pointer` is missing"),
    ("value = 20006", "value = [20006]", "26: `result.interrupts.value` must be a text, a number"),
    (
        "interrupts = [",
        "interrupts = 3 #",
        "26: `result.interrupts` must be a list of tables, got `3`",
    ),
    ("[result]\n", "[result]\nfile = {}\n", "24: `result.file` needs one of `base64` and `url`"),
    (
        "[result]\n",
        "[result]\nfile = { base64 = \"/a\", url = \"/b\" }\n",
        "24: `result.file` needs one of",
    ),
    (
        "[result]\n",
        "[result]\nfile = { url = \"/a\", name = \"../b\" }\n",
        "24: `result.file.name` must be a file name",
    ),
    (
        "[result]\n",
        "[result]\nfile = { url = \"/a\", media_type = \"png\" }\n",
        "24: `result.file.media_type` must be",
    ),
    ("[result]\n", "[results]\n", "23: `results` is not a field: did you mean `result`?"),
    ("[result]\n", "[result\n", "23: unclosed table"),
];

#[test]
fn a_broken_file_is_described_with_its_line() {
    for (from, to, says) in REPLACEMENTS {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replacen(from, to, 1);
        let problems = read(&text).expect_err(to);
        let expected = format!("tools/rooms.toml:{says}");
        assert!(problems.iter().any(|it| it.starts_with(&expected)), "{problems:#?}\n{expected}");
        assert!(problems.iter().all(|it| !it.contains('\n')), "{problems:?}");
    }
}

#[test]
fn other_broken_files_are_described() {
    let long = format!("description = \"{}\"\n", "a".repeat(1_001));
    let url =
        format!("request = {{ method = \"GET\", url = \"https://a.test/{}\" }}", "a".repeat(2_048));
    for (text, says) in [
        ("", "1: `description` is missing"),
        ("", "1: `request` is missing"),
        ("request = 3", "1: `request` must be a table, got `3`"),
        (&long, "1: `description` must be a text of at most 1000 characters, got 1001 characters"),
        (&url, "1: `request.url` is longer than 2048 bytes"),
        ("parameters = '{'", "1: `parameters` is no JSON: "),
        ("parameters = '[]'", "1: `parameters` must be a JSON Schema"),
        ("parameters = true", "1: `parameters` must be a JSON Schema"),
        ("\u{0}", "1: "),
        ("description: a", "1: "),
    ] {
        let problems = read(text).unwrap_err();
        let expected = format!("tools/rooms.toml:{says}");
        assert!(problems.iter().any(|it| it.starts_with(&expected)), "{problems:#?}\n{expected}");
    }
}

#[test]
fn all_problems_are_returned_in_the_order_of_the_file() {
    let text =
        "descripton = \"a\"\ntimeout_s = 0\ntrust = \"all\"\nrequest = { method = \"GET\" }\n";
    let problems = read(text).unwrap_err();
    let lines: Vec<&str> = problems.iter().map(|it| it.split(':').nth(1).unwrap()).collect();
    assert_eq!(lines, ["1", "1", "2", "4"], "{problems:#?}");
}

#[test]
fn names_are_those_that_every_provider_takes() {
    let longest = "a".repeat(64);
    for name in ["a", "get_weather_2", &longest] {
        assert_eq!(check_tool_name(name), Ok(()), "{name}");
        assert!(HttpTool::read(name, "a.toml", GOOD).is_ok(), "{name}");
    }
    for name in ["", "A", "2nd", "_a", "a-b", "a.b", "a b", "天气", &"a".repeat(65)] {
        assert!(check_tool_name(name).is_err(), "{name}");
        let problems = HttpTool::read(name, "a.toml", GOOD).unwrap_err();
        assert!(
            problems[0].to_string().starts_with("a.toml:1: a tool cannot be called"),
            "{problems:?}"
        );
    }
}
