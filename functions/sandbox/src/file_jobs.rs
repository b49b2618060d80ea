//! Splits jobs with several files, so a bad file does not prevent reading the others.

use std::time::Duration;

use djinn_core::id::FileName;
use djinn_runtime::port::sandbox::{JobEnd, SandboxAnswer, SandboxJob, SandboxWork};
use serde_json::{Value, json};

/// Maximum time per file, in seconds, for jobs with several files.
pub(crate) const MAX_FILE_SECONDS: u32 = 10;

/// A job for a single file of several.
pub(crate) struct FileJob {
    pub(crate) name: FileName,
    pub(crate) job: SandboxJob,
}

/// A job for one process, or a job for each file.
pub(crate) enum SplitJob {
    Whole(SandboxJob),
    ByFile(Vec<FileJob>),
}

/// Splits a job with several files into a job per file. Other jobs are not split.
pub(crate) fn split_job(job: SandboxJob) -> SplitJob {
    let names = match &job.work {
        SandboxWork::Look { names, .. }
        | SandboxWork::Scale { names, .. }
        | SandboxWork::ReadTables { names, .. }
            if names.len() > 1 =>
        {
            names.clone()
        }
        SandboxWork::Python { .. }
        | SandboxWork::Look { .. }
        | SandboxWork::Extract { .. }
        | SandboxWork::Render { .. }
        | SandboxWork::Scale { .. }
        | SandboxWork::ReadTables { .. }
        | SandboxWork::Query { .. }
        | SandboxWork::Insights { .. }
        | SandboxWork::ShowRows { .. } => return SplitJob::Whole(job),
    };
    let SandboxJob { work, mut files, .. } = job;
    let file_jobs = names.into_iter().map(|name| {
        let place = files.iter().position(|file| file.name == name);
        let file = place.map(|place| files.swap_remove(place));
        let mut work = work.clone();
        if let SandboxWork::Look { names, .. }
        | SandboxWork::Scale { names, .. }
        | SandboxWork::ReadTables { names, .. } = &mut work
        {
            *names = vec![name.clone()];
        }
        let job = SandboxJob { work, files: file.into_iter().collect(), state: Vec::new() };
        FileJob { job, name }
    });
    SplitJob::ByFile(file_jobs.collect())
}

/// The joined answers of several file jobs.
pub(crate) struct JoinedAnswer {
    values: serde_json::Map<String, Value>,
    answer: SandboxAnswer,
}

impl JoinedAnswer {
    pub(crate) fn new() -> Self {
        let answer = SandboxAnswer {
            end: JobEnd::Done,
            seconds: 0.0,
            output: Default::default(),
            value: Value::Null,
            products: Vec::new(),
            left_out: Vec::new(),
            state: Vec::new(),
        };
        Self { values: serde_json::Map::new(), answer }
    }

    /// Adds the answer of a file's job. A failed job leaves a problem as the value.
    pub(crate) fn add(&mut self, name: &FileName, mut answer: SandboxAnswer) {
        let value = answer.value.get_mut(name.as_str()).map(Value::take);
        let problem = match answer.end {
            JobEnd::Time => "too_slow",
            // The most frequent reason is a lack of memory.
            JobEnd::Crashed => "too_large",
            JobEnd::Done
            | JobEnd::Disk
            | JobEnd::Violation
            | JobEnd::NoResult
            | JobEnd::Unjailed => "broken",
        };
        let value = value.unwrap_or_else(|| json!({"problem": problem}));
        self.values.insert(name.to_string(), value);
        self.answer.seconds += answer.seconds;
        self.answer.products.append(&mut answer.products);
        self.answer.left_out.append(&mut answer.left_out);
    }

    /// Adds a file without a job, because the earlier files used up the time.
    pub(crate) fn add_unread(&mut self, name: &FileName) {
        self.values.insert(name.to_string(), json!({"problem": "too_slow"}));
    }

    pub(crate) fn finish(self) -> SandboxAnswer {
        SandboxAnswer { value: Value::Object(self.values), ..self.answer }
    }
}

/// Returns the seconds for the next file within the job's remaining time; `None` if no time is left.
pub(crate) fn file_seconds(job_seconds: u32, elapsed: Duration) -> Option<u32> {
    let remaining_s = u64::from(job_seconds).saturating_sub(elapsed.as_secs());
    let remaining_s = u32::try_from(remaining_s).unwrap_or(u32::MAX);
    (remaining_s > 0).then(|| remaining_s.min(MAX_FILE_SECONDS))
}

#[cfg(test)]
mod tests {
    use djinn_core::language::Language;
    use djinn_runtime::port::sandbox::SandboxFile;

    use super::*;

    fn names(count: usize) -> Vec<FileName> {
        (0..count).map(|number| FileName::new(format!("{number}.csv")).unwrap()).collect()
    }

    fn look(count: usize) -> SandboxJob {
        let names = names(count);
        let file = |name: &FileName| SandboxFile { name: name.clone(), content: vec![1] };
        let files = names.iter().map(file).collect();
        let work = SandboxWork::Look { names, language: Language::En };
        SandboxJob { work, files, state: Vec::new() }
    }

    #[test]
    fn each_of_several_files_has_a_job_with_that_file_alone() {
        assert!(matches!(split_job(look(1)), SplitJob::Whole(job) if job == look(1)));
        let SplitJob::ByFile(split) = split_job(look(3)) else { panic!("it is one job") };
        assert_eq!(split.len(), 3);
        for (FileJob { name, job }, expected) in split.into_iter().zip(names(3)) {
            assert_eq!(name, expected);
            assert!(
                matches!(&job.work, SandboxWork::Look { names, .. } if *names == [name.clone()])
            );
            assert!(matches!(job.files.as_slice(), [file] if file.name == name));
        }
    }

    #[test]
    fn job_that_broke_off_is_a_problem_of_its_file() {
        let [good, slow, dead, unread] = names(4).try_into().unwrap();
        let mut joined = JoinedAnswer::new();
        let answer = |end, value| SandboxAnswer { end, value, ..JoinedAnswer::new().answer };
        joined.add(&good, answer(JobEnd::Done, json!({"0.csv": {"text": "a"}})));
        joined.add(&slow, answer(JobEnd::Time, Value::Null));
        joined.add(&dead, answer(JobEnd::Crashed, Value::Null));
        joined.add_unread(&unread);
        let expected = json!({
            "0.csv": {"text": "a"}, "1.csv": {"problem": "too_slow"},
            "2.csv": {"problem": "too_large"}, "3.csv": {"problem": "too_slow"},
        });
        let answer = joined.finish();
        assert_eq!((answer.end, answer.value), (JobEnd::Done, expected));
    }

    #[test]
    fn file_has_ten_seconds_or_what_is_left_of_the_job() {
        for (elapsed, seconds) in [(0, Some(10)), (19, Some(10)), (25, Some(5)), (30, None)] {
            assert_eq!(file_seconds(30, Duration::from_secs(elapsed)), seconds);
        }
    }
}
