//! The file that says where a real cluster is: `--backend real --config FILE`. `samples/real.yaml` is one.

use std::path::{Path, PathBuf};

use provider_api::config::{self, ConfigReport, Fields};

/// Where a real cluster is, and what runs there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RealConfig {
    /// `kubeconfig`: how to get in. A relative path is taken from the file's own folder.
    pub(crate) kubeconfig: PathBuf,
    /// `context`: who may do everything; the kubeconfig's current context when it is left out.
    pub(crate) context: Option<String>,
    /// `controllers`: whether a controller manager runs there.
    pub(crate) controllers: bool,
}

impl RealConfig {
    /// Reads the text of a file that stands in `folder`; everything that is wrong is said at once.
    pub(crate) fn parse(yaml: &str, folder: &Path) -> Result<Self, ConfigReport> {
        config::read(yaml, |fields| Self::read(fields, folder))
    }

    fn read(fields: &mut Fields<'_>, folder: &Path) -> Option<Self> {
        let kubeconfig: Option<PathBuf> = fields.required("kubeconfig");
        let context = fields.optional("context");
        let controllers = fields.or("controllers", true);
        Some(Self { kubeconfig: folder.join(kubeconfig?), context, controllers })
    }
}
