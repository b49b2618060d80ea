//! The parts of a deployment that can change at run time: prompts in place of ours, models, and settings.

use std::sync::{Arc, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use djinn_aws::{AwsSecrets, AwsStore};
use djinn_model::Models;
use djinn_runtime::configuration::{
    Configuration, ConfigurationSource, ConfiguredSettings, Variables,
};
use djinn_runtime::port::clock::elapsed_ms;
use djinn_runtime::port::secret::Secrets;
use djinn_runtime::port::text_folder::{FolderText, NameDepth, TextFolder, TextFolderError};
use djinn_runtime::port::tool::BoxFuture;
use djinn_runtime::prompt::{OwnPrompts, Prompts};
use djinn_runtime::settings::Settings;
use djinn_settings::table::model::MODELS;
use djinn_settings::table::runtime::{MAX_USD, USER_DAY_USD};
use djinn_settings::table::tools::PROMPTS;
use djinn_settings::{InvalidSetting, MoneyLimit, Setting, SettingsDocument, VarLookup};
use djinn_tools::content_checker::parse_content_policy;
use djinn_tools::local_folder::LocalText;
use djinn_tools::prompt_source::PromptSource;
use tokio::sync::Mutex;

use crate::WiringError;
use crate::configuration_folder::ConfigurationFolder;
use crate::djinn::SettingsCheck;
use crate::text_folders::open_folders;

/// The models of a deployment.
type AwsModels = Models<AwsSecrets>;

/// The texts read at the start.
pub(crate) struct ConfigurationTexts {
    prompts: Option<(PromptSource, OwnPrompts)>,
    models: Option<(ModelsText, Option<djinn_model::Settings>)>,
}

impl ConfigurationTexts {
    /// Opens the texts named by the variables, and reads the texts available at the start.
    pub(crate) fn open(
        variables: &Variables,
        store: &AwsStore,
        limits: DollarLimits,
    ) -> Result<Self, WiringError> {
        let folders = open_folders(&PROMPTS, &**variables, store, NameDepth::Group)?;
        let prompts = if folders.is_empty() { None } else { Some(PromptSource::open(folders)?) };
        let models = match djinn_model::Settings::find_text_path(&**variables) {
            None => None,
            Some(path) => {
                let folder = open_text(&MODELS, &path, store)?;
                let text = ModelsText { folder, variables: Arc::clone(variables), limits };
                let settings = text.read_at_start().map_err(WiringError::ModelsText)?;
                if let Some(settings) = &settings {
                    limits.log_unpriced(settings);
                }
                Some((text, settings))
            }
        };
        Ok(Self { prompts, models })
    }

    /// Returns the initial models, and the source that rereads prompts, models and settings, if any can change.
    pub(crate) fn into_source(
        self,
        prompts: &Arc<Prompts>,
        models: AwsModels,
        settings: Option<SettingsReader>,
    ) -> (Arc<AwsModels>, Option<Arc<dyn ConfigurationSource<AwsModels>>>) {
        let Self { prompts: own, models: text } = self;
        if own.is_none() && text.is_none() && settings.is_none() {
            return (Arc::new(models), None);
        }
        let reader = settings;
        let (own, first) = own.unzip();
        prompts.replace_own(first.unwrap_or_default());
        let (text, settings) = text.unzip();
        let models = match settings.flatten() {
            Some(settings) => models.with_settings(settings),
            None => models,
        };
        let model = Arc::new(models);
        let current = Configuration {
            prompts: Arc::new(prompts.snapshot()),
            model: Arc::clone(&model),
            settings: None,
            problems: Arc::default(),
        };
        let source = LiveConfiguration {
            prompts: Arc::clone(prompts),
            own,
            text,
            reader,
            read_at_ms: Mutex::default(),
            current: RwLock::new(Arc::new(current)),
        };
        (model, Some(Arc::new(source)))
    }
}

/// Opens the text named by a setting: a file of the function, or, after an `@`, an object of the bucket.
pub(crate) fn open_text(
    setting: &Setting,
    path: &str,
    store: &AwsStore,
) -> Result<Arc<dyn TextFolder>, InvalidSetting> {
    let Some(key) = path.strip_prefix('@') else {
        return Ok(Arc::new(LocalText::new(path)));
    };
    let text = store.open_text(key);
    Ok(Arc::new(text.map_err(|error| setting.problem(&format!("names `{path}`: {error}")))?))
}

/// The settings of models as a text.
struct ModelsText {
    folder: Arc<dyn TextFolder>,
    variables: Variables,
    limits: DollarLimits,
}

impl ModelsText {
    /// Reads the settings; `None` if not readable at the start.
    fn read_at_start(&self) -> Result<Option<djinn_model::Settings>, String> {
        self.folder.read_at_start().map(|texts| self.parse(texts)).transpose()
    }

    fn parse(
        &self,
        result: Result<Vec<FolderText>, TextFolderError>,
    ) -> Result<djinn_model::Settings, String> {
        let folder_text = result.map_err(|error| error.to_string())?.into_iter().next();
        let folder_text =
            folder_text.ok_or_else(|| format!("{} has no text", self.folder.path()))?;
        let path = folder_text.path_in(&self.folder.path());
        let text = folder_text.text.map_err(|rule| format!("{path}:1: it {rule}"))?;
        let settings = djinn_model::Settings::from_text(&text, &*self.variables)
            .map_err(|fault| format!("{path}:{}: {}", fault.line, fault.rule))?;
        self.limits.check_prices(&settings).map_err(|models| {
            format!("{path}:1: a budget in US dollars is set, but there is no price for {models}")
        })?;
        Ok(settings)
    }
}

/// The dollar limits of a deployment, by what they need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DollarLimits {
    /// No limit.
    None,
    /// A limit of a user's day that counts models without a price as free.
    IfPriced,
    /// A limit that needs the price of every model.
    NeedPrices,
}

impl DollarLimits {
    /// Reads the dollar limits of a deployment.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] with the variable's name.
    pub(crate) fn from_vars(var: VarLookup<'_>) -> Result<Self, InvalidSetting> {
        let run_micro_usd = MAX_USD.find_micro_usd(var)?;
        Ok(match USER_DAY_USD.find_money_limit(var)? {
            Some(MoneyLimit { needs_prices: true, .. }) => Self::NeedPrices,
            Some(_) | None if run_micro_usd.is_some() => Self::NeedPrices,
            Some(_) => Self::IfPriced,
            None => Self::None,
        })
    }

    /// Checks that each model has a price, if required.
    ///
    /// # Errors
    /// Returns the models without a required price.
    pub(crate) fn check_prices(self, models: &djinn_model::Settings) -> Result<(), String> {
        let model_list = join_unpriced(models);
        if self == Self::NeedPrices && !model_list.is_empty() { Err(model_list) } else { Ok(()) }
    }

    /// Logs the models without a price, as a warning if a limit does not count their calls.
    pub(crate) fn log_unpriced(self, models: &djinn_model::Settings) {
        let models = join_unpriced(models);
        if models.is_empty() {
            return;
        }
        match self {
            Self::None | Self::NeedPrices => tracing::info!(
                models,
                "no price is known: calls count as free, and runs have no budget in US dollars"
            ),
            Self::IfPriced => tracing::warn!(
                models,
                "no price is known: calls count as free, and {} does not limit them; set DJINN_PRICES",
                USER_DAY_USD.name
            ),
        }
    }
}

fn join_unpriced(models: &djinn_model::Settings) -> String {
    models.unpriced_models().into_iter().collect::<Vec<_>>().join(", ")
}

/// The reader of the settings in the configuration folder.
pub(crate) struct SettingsReader {
    pub(crate) folder: ConfigurationFolder,
    pub(crate) secrets: AwsSecrets,
    pub(crate) check: SettingsCheck,
    /// The settings that are in use; `None` before the first read.
    pub(crate) current: std::sync::Mutex<Option<Arc<SettingsDocument>>>,
}

impl SettingsReader {
    /// Reads and checks the current settings; `None` if they are those in use.
    ///
    /// # Errors
    /// Returns the first problem as a sentence with its place.
    async fn read_now(
        &self,
    ) -> Result<Option<(djinn_model::Settings, ConfiguredSettings)>, String> {
        let document = Arc::new(self.folder.read_settings().await?);
        if self.lock_current().as_ref() == Some(&document) {
            return Ok(None);
        }
        let variables = self.folder.layer(Arc::clone(&document));
        let configured = parse_configured(variables, self.secrets.clone(), self.check)
            .map_err(|error| ConfigurationFolder::locate(&document, error).to_string())?;
        *self.lock_current() = Some(document);
        Ok(Some(configured))
    }

    fn lock_current(&self) -> MutexGuard<'_, Option<Arc<SettingsDocument>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Parses all settings that can change while a process runs.
///
/// # Errors
/// Returns [`WiringError`] for the first problem.
pub(crate) fn parse_configured<S: Secrets + 'static>(
    variables: Variables,
    secrets: S,
    check: SettingsCheck,
) -> Result<(djinn_model::Settings, ConfiguredSettings), WiringError> {
    let var = &*variables;
    let models = djinn_model::Settings::from_vars(var)?;
    DollarLimits::from_vars(var)?.check_prices(&models).map_err(WiringError::Unpriced)?;
    let settings = Settings::from_vars(var)?;
    let content = parse_content_policy(var, secrets)?;
    check(var)?;
    let configured = ConfiguredSettings { settings, content: Arc::new(content), variables };
    Ok((models, configured))
}

/// The source that rereads prompts, models and settings, at most every five seconds.
struct LiveConfiguration {
    /// The prompts of tools, updated to the current state.
    prompts: Arc<Prompts>,
    own: Option<PromptSource>,
    text: Option<ModelsText>,
    reader: Option<SettingsReader>,
    /// The start of the last read, Unix milliseconds. The first caller after the interval reads, while others
    /// wait.
    read_at_ms: Mutex<Option<i64>>,
    current: RwLock<Arc<Configuration<AwsModels>>>,
}

impl LiveConfiguration {
    async fn read_now(&self) {
        let (own, settings, document) = tokio::join!(
            async { Some(self.own.as_ref()?.read_prompts().await) },
            async {
                let text = self.text.as_ref()?;
                Some(text.parse(text.folder.read_texts().await))
            },
            async { Some(self.reader.as_ref()?.read_now().await) },
        );
        let before = self.current();
        let mut problems = self.own.as_ref().map(PromptSource::list_problems).unwrap_or_default();
        let mut configured = before.settings.clone();
        let mut configured_models = None;
        match document {
            Some(Ok(None)) | None => {}
            Some(Ok(Some((models, settings)))) => {
                configured_models = Some(Ok(models));
                configured = Some(Arc::new(settings));
            }
            Some(Err(problem)) => {
                if !before.problems.contains(&problem) {
                    tracing::warn!(problem, "settings stay as they last were");
                }
                problems.push(problem);
            }
        }
        // Models of the file replace a text of models.
        let reads_text = configured.as_ref().is_none_or(|configured| {
            djinn_model::Settings::find_text_path(&*configured.variables).is_some()
        });
        let latest = if reads_text { settings } else { configured_models };
        let models = match latest {
            Some(Ok(settings)) => {
                if let Some(text) = &self.text
                    && settings.unpriced_models() != before.model.settings().unpriced_models()
                {
                    text.limits.log_unpriced(&settings);
                }
                before.model.with_settings(settings)
            }
            Some(Err(problem)) => {
                if !before.problems.contains(&problem) {
                    tracing::warn!(problem, "models stay as they last were");
                }
                problems.push(problem);
                before.model.with_prompts(Arc::clone(&self.prompts))
            }
            None => before.model.with_prompts(Arc::clone(&self.prompts)),
        };
        if let Some(own) = own {
            self.prompts.replace_own(own);
        }
        let prompts = Arc::new(self.prompts.snapshot());
        let model = Arc::new(models.with_prompts(Arc::clone(&prompts)));
        let now = Configuration { prompts, model, settings: configured, problems: problems.into() };
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(now);
    }
}

impl ConfigurationSource<AwsModels> for LiveConfiguration {
    fn update(&self, now_ms: i64, fresh: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut read_at_ms = self.read_at_ms.lock().await;
            let fresh_ms = u64::try_from(fresh.as_millis()).unwrap_or(u64::MAX);
            if read_at_ms.is_none_or(|at_ms| elapsed_ms(at_ms, now_ms) >= fresh_ms) {
                *read_at_ms = Some(now_ms);
                self.read_now().await;
            }
        })
    }

    fn is_ready(&self) -> bool {
        self.reader.as_ref().is_none_or(|reader| reader.lock_current().is_some())
    }

    fn current(&self) -> Arc<Configuration<AwsModels>> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}
