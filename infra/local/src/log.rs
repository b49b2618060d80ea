//! Writes the log to standard error and to the explainer.

use std::io::{self, Write};
use std::sync::Arc;

use djinn_runtime::telemetry;

/// Starts logging to standard error at `level`.
pub fn log_to_stderr(level: &str) {
    telemetry::init(Some(level), io::stderr);
}

/// Starts logging to standard error at `level`. `observe` receives each line, a JSON object.
pub fn log_with_observer(level: &str, observe: impl Fn(&str) + Send + Sync + 'static) {
    let observe = Arc::new(observe);
    telemetry::init(Some(level), move || ObservedWriter { observe: Arc::clone(&observe) });
}

/// Writes to standard error, line by line.
struct ObservedWriter<F> {
    observe: Arc<F>,
}

impl<F: Fn(&str)> Write for ObservedWriter<F> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(line)?;
        (self.observe)(String::from_utf8_lossy(line).trim_end());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
