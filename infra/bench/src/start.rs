//! The time from a function's start to the first poll of the Runtime API, served by a tiny server.

use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::figure::{Figure, FigureLimit};
use crate::sample::Sample;

/// Counted starts, and warm-up starts for caching the file.
const STARTS: usize = 30;
const WARM_UP: usize = 3;

/// The first request of a ready function.
const POLL: &str = "GET /2018-06-01/runtime/invocation/next ";

/// Timeout for the first request.
const PATIENCE: Duration = Duration::from_secs(10);

/// The variables of a deployed function: Lambda's and the variables of `template.yaml`.
const VARIABLES: [(&str, &str); 20] = [
    ("AWS_ACCESS_KEY_ID", "bench"),
    ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512"),
    ("AWS_LAMBDA_FUNCTION_NAME", "djinn-agent"),
    ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
    ("AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH", "true"),
    ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand"),
    ("AWS_LAMBDA_LOG_GROUP_NAME", "/aws/lambda/djinn-agent"),
    ("AWS_LAMBDA_LOG_STREAM_NAME", "2026/01/01/[$LATEST]0"),
    ("AWS_REGION", "eu-west-1"),
    ("AWS_SECRET_ACCESS_KEY", "bench"),
    ("AWS_SESSION_TOKEN", "bench"),
    ("DJINN_BUCKET", "djinn"),
    ("DJINN_EXECUTOR", "arn:aws:lambda:eu-west-1:123456789012:function:djinn-executor"),
    ("DJINN_LANGUAGE", "en"),
    (
        "DJINN_MODELS",
        "{\"models\":{\"main\":{\"provider\":\"bedrock\",\"model\":\"eu.amazon.nova-pro-v1:0\"}}}",
    ),
    ("DJINN_LIMITS__RETENTION_DAYS", "30"),
    ("DJINN_SCHEDULE_GROUP", "djinn"),
    ("DJINN_SCHEDULE_ROLE_ARN", "arn:aws:iam::123456789012:role/djinn-schedule"),
    ("DJINN_TABLE", "djinn"),
    ("_HANDLER", "bootstrap"),
];

/// The variables of the gateway for pages.
const GATEWAY_VARIABLES: [(&str, &str); 9] = [
    ("AWS_ACCESS_KEY_ID", "bench"),
    ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512"),
    ("AWS_LAMBDA_FUNCTION_NAME", "djinn-fetch"),
    ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
    ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand"),
    ("AWS_REGION", "eu-west-1"),
    ("AWS_SECRET_ACCESS_KEY", "bench"),
    ("DJINN_GATEWAY_ROLE", "fetch"),
    ("_HANDLER", "bootstrap"),
];

pub(crate) fn measure_starts(agent: &Path) -> Result<Figure> {
    measure_function("agent function, start to first poll", agent, &VARIABLES)
}

pub(crate) fn measure_gateway_starts(gateway: &Path) -> Result<Figure> {
    measure_function("gateway function, start to first poll", gateway, &GATEWAY_VARIABLES)
}

fn measure_function(
    name: &'static str,
    program: &Path,
    variables: &[(&str, &str)],
) -> Result<Figure> {
    let api = TcpListener::bind(("127.0.0.1", 0))?;
    api.set_nonblocking(true)?;
    let mut starts = Sample::default();
    for n in 0..WARM_UP + STARTS {
        let took = time_start(program, variables, &api)?;
        if n >= WARM_UP {
            starts.add(took);
        }
    }
    Ok(Figure {
        name,
        limit: FigureLimit::AtMost(25.0),
        unit: "ms",
        measured: starts.median(),
        about: format!(
            "p95 {:.1} ms of {STARTS}; the release binary, from its spawn, its file in memory",
            starts.p95()
        ),
    })
}

fn time_start(program: &Path, variables: &[(&str, &str)], api: &TcpListener) -> Result<Duration> {
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs(variables.iter().copied())
        .env("AWS_LAMBDA_RUNTIME_API", api.local_addr()?.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let began = Instant::now();
    let mut function = RunningFunction(
        command.spawn().with_context(|| format!("{} cannot be started", program.display()))?,
    );
    loop {
        match api.accept() {
            Ok((connection, _)) => {
                let first = first_line(&connection)?;
                let took = began.elapsed();
                ensure!(first.starts_with(POLL), "the function asked for {first}");
                return Ok(took);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(status) = function.0.try_wait()? {
            bail!("the function ended with {status} before it asked for anything");
        }
        ensure!(began.elapsed() < PATIENCE, "the function did not ask for anything");
        std::thread::sleep(Duration::from_micros(100));
    }
}

fn first_line(connection: &TcpStream) -> Result<String> {
    connection.set_nonblocking(false)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(connection).read_line(&mut line)?;
    Ok(line)
}

/// A running function. Dropping the value kills the process.
struct RunningFunction(Child);

impl Drop for RunningFunction {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
