//! `cargo xtask eval`: asks questions with known answers to the configured model.

mod citation;
mod judgement;
mod office_archive;
mod product;
mod score_table;
mod spelling;
mod suite;

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum;

use crate::dev::{EvalServer, FinishedRun, ServerClient, finish_question};
use crate::terminal::print_line;
use crate::workspace;
use judgement::{EvalAnswer, Judgement};
use product::Product;
use score_table::{HEADER, JudgedRun, SuiteScore, describe_run};
use suite::{EvalQuestion, EvalSuite, site_pages};

/// The questions to ask, and the server.
#[derive(clap::Args)]
pub(crate) struct EvalArguments {
    /// Suite of questions in examples/eval.
    #[arg(long)]
    suite: SuiteName,
    /// URL of the server; without it, a server is started for the questions.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// API key for the server.
    #[arg(long, requires = "base_url")]
    key: Option<String>,
    /// Number of the only question to ask, from 1.
    #[arg(long, value_name = "N")]
    only: Option<usize>,
    /// Minimum share of correct answers, from 0 to 1; fails below it.
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    require: Option<f64>,
}

/// The available suites, each named as its file.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq)]
enum SuiteName {
    Search,
    Code,
    Report,
    Data,
}

/// Asks the questions of a suite in sequence, and prints the scores.
///
/// # Errors
/// Returns an error if no server is available. With the scripted model, also for an unfinished run; with
/// `--require`, also for a low score.
pub(crate) fn run(arguments: &EvalArguments) -> Result<()> {
    let examples = workspace::root().join("examples");
    let suite_name = arguments.suite.to_possible_value().context("the suite has no name")?;
    let suite = EvalSuite::read(&examples, suite_name.get_name())?;
    let pages = site_pages(&examples.join("site"))?;
    let questions = select_questions(&suite, arguments.only)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (score, is_scripted) = runtime.block_on(async {
        let server = EvalServer::open(arguments.base_url.clone(), arguments.key.clone()).await?;
        if server.is_scripted() {
            print_line("(no model is configured: this is the scripted demo model)");
        }
        print_line(HEADER);
        let mut score = SuiteScore::default();
        for (number, question) in &questions {
            let judged_run =
                judge_question(server.client(), *number, &suite.mode, question, &pages).await;
            describe_run(&judged_run).iter().for_each(|line| print_line(line));
            score.add_run(&judged_run);
        }
        anyhow::Ok((score, server.is_scripted()))
    })?;
    print_line(&score.describe());
    if is_scripted {
        print_line("scripted model: plumbing only");
        let expected_count = questions.len();
        ensure!(
            score.questions == expected_count,
            "{} of {expected_count} questions were judged",
            score.questions
        );
        ensure!(score.unended.is_empty(), "runs that did not end: {}", score.unended.join(", "));
        Ok(())
    } else {
        check_share(&score, arguments.require)
    }
}

fn select_questions(suite: &EvalSuite, only: Option<usize>) -> Result<Vec<(usize, &EvalQuestion)>> {
    let all = (1..).zip(&suite.questions);
    let chosen: Vec<_> =
        all.filter(|(number, _)| only.is_none_or(|only| only == *number)).collect();
    ensure!(!chosen.is_empty(), "the suite has {} questions", suite.questions.len());
    Ok(chosen)
}

/// Asks one question. Errors become part of the result.
async fn judge_question(
    client: &ServerClient,
    number: usize,
    mode: &str,
    question: &EvalQuestion,
    pages: &BTreeSet<String>,
) -> JudgedRun {
    let files: Vec<_> = question.files.iter().map(|file| workspace::root().join(file)).collect();
    let result = finish_question(client, &question.ask, mode, &files).await;
    let has_ended = result.is_ok();
    let (run, problem) = match result {
        Ok(run) => {
            let failure = run.failure.clone();
            (run, failure)
        }
        Err(error) => (FinishedRun::default(), Some(format!("{error:#}"))),
    };
    let product = read_product(client, question, &run).await;
    let (product, unread) = match product {
        Ok(product) => (product, None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let answer = EvalAnswer { text: &run.answer, product: product.as_ref() };
    JudgedRun {
        number,
        name: question.name.clone(),
        judgement: Judgement::of(question, &answer, pages),
        took: run.took,
        tokens: run.tokens,
        problem: problem.or(unread),
        has_ended,
    }
}

/// Returns the run's first file of the requested form.
async fn read_product(
    client: &ServerClient,
    question: &EvalQuestion,
    run: &FinishedRun,
) -> Result<Option<Product>> {
    let Some(form) = question.product else { return Ok(None) };
    let ending = format!(".{}", form.ending());
    for (name, url) in &run.files {
        if name.to_lowercase().ends_with(&ending) {
            let bytes = client.download_file(url).await;
            let bytes = bytes.with_context(|| format!("{name} cannot be fetched"))?;
            return Ok(form.read_product(&bytes));
        }
    }
    Ok(None)
}

fn check_share(score: &SuiteScore, required: Option<f64>) -> Result<()> {
    match required {
        Some(required) if score.share() < required => {
            bail!("{:.2} is right, and {required:.2} is required", score.share())
        }
        _ => Ok(()),
    }
}

fn parse_share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    if (0.0..=1.0).contains(&share) {
        Ok(share)
    } else {
        Err("a share is between 0 and 1".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        eval: EvalArguments,
    }

    #[test]
    fn what_cannot_be_asked_is_said() {
        for (words, problem) in [
            (&["--suite", "search"][..], None),
            (&["--suite", "code", "--only", "3", "--require", "0.8"], None),
            (&["--suite", "report", "--base-url", "http://h", "--key", "k"], None),
            (&[], Some("--suite")),
            (&["--suite", "maths"], Some("search, code, report, data")),
            (&["--suite", "code", "--key", "k"], Some("--base-url")),
            (&["--suite", "code", "--require", "80"], Some("between 0 and 1")),
            (&["--suite", "code", "--require", "most"], Some("not a number")),
        ] {
            let parsed = Words::try_parse_from(["eval"].iter().chain(words));
            let said = parsed.map(|_| ()).map_err(|error| error.to_string());
            match problem {
                None => assert_eq!(said, Ok(()), "{words:?}"),
                Some(problem) => assert!(said.unwrap_err().contains(problem), "{words:?}"),
            }
        }
    }

    #[test]
    fn one_question_is_chosen_by_its_place() {
        let suite = EvalSuite::read(&workspace::root().join("examples"), "code").unwrap();
        assert_eq!(select_questions(&suite, None).unwrap().len(), 20);
        let third = select_questions(&suite, Some(3)).unwrap();
        assert_eq!((third.len(), third[0].0, third[0].1.name.as_str()), (1, 3, "fastest"));
        for place in [0, 21] {
            let error = select_questions(&suite, Some(place)).err().unwrap();
            assert!(error.to_string().contains("20 questions"));
        }
    }

    #[test]
    fn a_share_is_required_only_where_that_is_asked() {
        let nothing = SuiteScore::default();
        assert!(check_share(&nothing, None).is_ok() && check_share(&nothing, Some(1.0)).is_ok());
    }
}
