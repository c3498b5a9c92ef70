//! A Kubernetes operator that runs egress proxies through providers. It links the registry of `provider-api` and knows
//! nothing of backends: it branches on the class of an error and on the state of an instance, and on nothing else.
//!
//! | in | lives |
//! |---|---|
//! | [`resource`] | `Proxy` as the operator sees it |
//! | [`crd`] | the definitions of the resources, to be installed |
//! | [`mod@step`] | what to do next about one Proxy: pure |
//! | [`backoff`] | how long to wait after failures |
//! | [`collector`] | what has no owner any more is found and deleted |
//! | [`health`] | whether providers can be used, proxies serve, and inputs have changed |
//! | [`mod@config`] | the operator's own keys in its config file |
//! | [`shell`] | every Proxy through its steps |
//! | [`election`] | who of several operators works |
//! | [`cluster`] | what is needed of Kubernetes |
//! | [`apiserver`] | that, by a real API server |
//! | [`work`] | all of it together, for one term |

#[cfg(feature = "apiserver")]
pub mod apiserver;
pub mod backoff;
pub mod cluster;
pub mod collector;
pub mod config;
pub mod crd;
#[cfg(test)]
mod doubles;
pub mod election;
pub mod health;
pub mod resource;
pub mod shell;
pub mod step;
pub mod work;
