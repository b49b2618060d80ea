use super::*;
use crate::{Variables, build_lambda_world};
use djinn_tools::{
    BoxFuture, EffectClass, Language, ToolAudience, ToolContext, ToolDefinition, ToolError,
    ToolOutput, ToolSourceError,
};

/// Says what a variable said when it was made.
struct Greeter(String);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct NoArguments {}

impl TypedTool for Greeter {
    type Arguments = NoArguments;

    fn definition(&self, _: Language) -> ToolDefinition {
        ToolDefinition::new(self.0.clone(), "Says hello.", EffectClass::Read)
    }

    async fn run(&self, _: &ToolContext, _: NoArguments) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::from_text("hello"))
    }
}

/// A greeter whose name is that of a variable.
fn make_greeter(parts: &ToolParts<'_>) -> Result<Greeter, InvalidSetting> {
    let name = (parts.var)("GREETER");
    name.map(Greeter).ok_or_else(|| InvalidSetting::new("GREETER", "a name", ""))
}

/// The variables without which no function starts.
fn find_variable(name: &str) -> Option<String> {
    let value = match name {
        "DJINN_EXECUTOR" => "arn:aws:lambda:eu-west-1:1:function:executor",
        "DJINN_SCHEDULE_ROLE_ARN" => "arn:aws:iam::1:role/djinn",
        "DJINN_TABLE" | "DJINN_BUCKET" | "DJINN_SCHEDULE_GROUP" => "djinn",
        _ => return None,
    };
    Some(value.to_owned())
}

/// Returns true for each of `tools` that the deployment offers; `greeter` is the value of `GREETER`.
fn build(
    djinn: &Djinn,
    greeter: Option<&'static str>,
    tools: [&str; 2],
) -> Result<[bool; 2], String> {
    let variables: Variables = Arc::new(move |name| match name {
        "GREETER" => greeter.map(str::to_owned),
        name => find_variable(name),
    });
    let world = build_lambda_world(djinn, &variables).map_err(|error| error.to_string())?;
    Ok(tools.map(|name| world.tools.find_tool(name).is_some()))
}

#[test]
fn a_deployment_has_our_tools_and_its_own() {
    let tools = ["file_tool", "greeter"];
    assert_eq!(build(&Djinn::new(), None, tools), Ok([true, false]));
    let own = Djinn::new().with_tool(Greeter("greeter".to_owned()));
    assert_eq!(build(&own, None, tools), Ok([true, true]));
    let of_parts = Djinn::new().with_tool_of(make_greeter);
    assert_eq!(build(&of_parts, Some("greeter"), tools), Ok([true, true]));
    let untyped = Arc::new(ToolAdapter::new(Greeter("greeter".to_owned())));
    assert_eq!(build(&Djinn::new().with_dyn_tool(untyped), None, tools), Ok([true, true]));
}

/// Lists nothing.
struct Catalogue;

impl ToolSource for Catalogue {
    fn name(&self) -> &'static str {
        "catalogue"
    }

    fn list_tools<'a>(
        &'a self,
        _: &'a ToolAudience,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolSourceError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

#[test]
fn the_sources_of_a_deployment_are_asked_for_tools() {
    let djinn = Djinn::new().with_tool_source(Catalogue);
    let world = build_lambda_world(&djinn, &(Arc::new(find_variable) as Variables)).unwrap();
    let names: Vec<_> = world.tools.sources().map(|source| source.name()).collect();
    assert_eq!(names, ["catalogue"]);
}

/// Starts with a configuration folder and offered agents. Returns true if the configuration can change.
fn start_with_folder(config: &str, offered: &'static str) -> Result<bool, String> {
    let config = config.to_owned();
    let variables: Variables = Arc::new(move |name| match name {
        "DJINN_CONFIG" => Some(config.clone()),
        "DJINN_AGENTS__OFFERED" => Some(offered.to_owned()),
        "KEY" => Some("key".to_owned()),
        name => find_variable(name),
    });
    let world = build_lambda_world(&Djinn::new(), &variables);
    world.map(|world| world.configuration.is_some()).map_err(|error| error.to_string())
}

#[test]
fn a_folder_of_the_bucket_is_not_read_at_the_start_and_lies_where_nobody_writes() {
    // The agents of a bucket are unknown at the start.
    assert_eq!(start_with_folder("@config", "oracle,researcher"), Ok(true));
    assert_eq!(start_with_folder("@config/team/", "all"), Ok(true));
    assert_eq!(start_with_folder("", "all"), Ok(false));
    let unknown = "DJINN_AGENTS__OFFERED names `oracle`, which is no agent: there are code_interpreter, comprehensive, data_analysis, data_query, deep_search, plan_solve, react, report_tool, researcher, reviewer, router, workflow, writer";
    assert_eq!(start_with_folder("", "oracle"), Err(unknown.to_owned()));
    for (config, says) in [
        ("@agents", "DJINN_CONFIG names `@agents`: a prefix of the bucket is `config`, or lies"),
        ("no-such-folder", "DJINN_CONFIG names `no-such-folder`, which is not a folder"),
    ] {
        let error = start_with_folder(config, "all").unwrap_err();
        assert!(error.starts_with(says), "{error}");
    }
}

#[test]
fn a_broken_file_of_the_function_ends_the_start() {
    let agent = "---\nname: sage\ndescription: Knows.\n---\nYou know.\n";
    for (name, text, says) in [
        ("djinn.toml", "[limits]\nmax_step = 3\n", ":2: `limits.max_step` is not a setting"),
        (
            "djinn.toml",
            "[models.main]\nprovider = \"openai\"\nmodel = \"m\"\nkey = \"env:NOT_SET\"\n",
            ":4: models.main.key names the variable NOT_SET",
        ),
        ("djinn.toml", "[agents]\noffered = \"sag\"\n", ":2: agents.offered names `sag`, "),
        ("agents/oracle.md", "You know.", ":1: the file begins without front matter"),
        ("modes/a b.md", agent, ":1: it is not named modes/NAME.md, "),
        (
            "modes/react.md",
            "---\nname: react\ndescription: Acts.\nentry: false\n---\nAct.\n",
            ":2: ",
        ),
        ("prompts/en/react/system.md", "Today\nis {{ dat }}.", ":2: the prompt uses `dat`, "),
        ("prompts/fr/react/system.md", "", ":1: a prompt lies in `en` or `zh`, "),
        ("templates/theme.toml", "color = []\n", ":1: `color` is not a field: did you mean"),
        ("tools/weather.toml", "description = 3\n", ":1: `description` must be a text"),
        ("tools/file_tool.toml", "", ":1: the name `file_tool` belongs to a tool"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("agents/sage.md", agent);
        let config = folder.path().display().to_string();
        assert_eq!(start_with_folder(&config, "sage"), Ok(true));
        write(name, text);
        let error = start_with_folder(&config, "").unwrap_err();
        assert!(error.starts_with(&format!("{config}/{name}{says}")), "{error}");
    }
}

/// The result of a start with a model and dollar limits, and the lines of its log.
fn start_with_limits(
    model: &'static str,
    day_usd: &'static str,
    run_usd: &'static str,
) -> (Result<Option<u64>, String>, Vec<String>) {
    let variables: Variables = Arc::new(move |name| match name {
        "OPENAI_API_KEY" => Some("key".to_owned()),
        "OPENAI_MODEL" => Some(model.to_owned()),
        "DJINN_LIMITS__USER_DAY_USD" => Some(day_usd.to_owned()),
        "DJINN_LIMITS__MAX_USD" => Some(run_usd.to_owned()),
        name => find_variable(name),
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let log = Arc::new(std::fs::File::create(&path).unwrap());
    // A single dispatcher would let other tests' threads decide which lines are logged.
    let _second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::new());
    let subscriber = djinn_runtime::telemetry::subscriber(None, log);
    let world = tracing::subscriber::with_default(subscriber, || {
        build_lambda_world(&Djinn::new(), &variables)
    });
    let limit = world.map(|world| world.settings.user.day_micro_usd);
    let lines = std::fs::read_to_string(path).unwrap();
    (
        limit.map_err(|error| error.to_string()),
        lines.lines().filter(|line| line.contains("no price")).map(str::to_owned).collect(),
    )
}

#[test]
fn a_dollar_limit_needs_the_price_of_every_model_unless_it_ends_in_if_priced() {
    let unpriced =
        "a budget in US dollars is set, but `[prices]` of djinn.toml has no price for mine";
    for (model, day_usd, run_usd, result) in [
        ("gpt-4.1", "none", "", Ok(None)),
        ("gpt-4.1", "", "", Ok(Some(10_000_000))),
        ("gpt-4.1", "10", "", Ok(Some(10_000_000))),
        ("gpt-4.1", "10 if priced", "2", Ok(Some(10_000_000))),
        ("mine", "none", "", Ok(None)),
        ("mine", "", "", Ok(Some(10_000_000))),
        ("mine", "10", "", Err(unpriced)),
        ("mine", "", "2", Err(unpriced)),
        ("mine", "10 if priced", "2", Err(unpriced)),
        ("mine", "10 if priced", "", Ok(Some(10_000_000))),
    ] {
        let (limit, _) = start_with_limits(model, day_usd, run_usd);
        assert_eq!(limit, result.map_err(str::to_owned), "{model}, {day_usd}, {run_usd}");
    }
}

#[test]
fn a_start_warns_once_of_models_that_the_dollar_limit_leaves_out() {
    let (_, lines) = start_with_limits("mine", "10 if priced", "");
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert!(line.contains(r#""level":"WARN""#) && line.contains(r#""models":"mine""#), "{line}");
    assert!(line.contains("DJINN_LIMITS__USER_DAY_USD does not limit them"), "{line}");
    let (_, lines) = start_with_limits("mine", "none", "");
    assert!(lines.len() == 1 && lines[0].contains(r#""level":"INFO""#), "{lines:?}");
    assert_eq!(start_with_limits("gpt-4.1", "10 if priced", "").1, [""; 0]);
}

#[test]
fn code_that_nothing_holds_is_refused_but_on_a_laptop() {
    let start = |sandbox: &'static str, local: &'static str| {
        let variables: Variables = Arc::new(move |name| match name {
            "DJINN_CODE_SANDBOX" => Some(sandbox.to_owned()),
            "DJINN_LOCAL" => Some(local.to_owned()),
            name => find_variable(name),
        });
        build_lambda_world(&Djinn::new(), &variables).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!((start("unsafe", "1"), start("jail", "0")), (Ok(()), Ok(())));
    let refused = "DJINN_CODE_SANDBOX is `unsafe`, which is for laptops: leave it out";
    assert_eq!(start("unsafe", "0"), Err(refused.to_owned()));
    assert!(start("none", "1").unwrap_err().starts_with("DJINN_CODE_SANDBOX must be"));
}

#[test]
fn a_tool_that_cannot_be_offered_ends_the_start() {
    let djinn = Djinn::new().with_tool_of(make_greeter);
    for (name, says) in [
        (None, "GREETER must be a name, got ``"),
        (Some("file_tool"), "two tools are called `file_tool`: give one of them another name"),
        (Some("no name"), "a tool cannot be called `no name`: use 1 to 64 letters"),
    ] {
        let error = build(&djinn, name, ["a", "b"]).unwrap_err();
        assert!(error.starts_with(says), "{error}");
    }
}
