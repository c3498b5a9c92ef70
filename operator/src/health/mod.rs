//! Health: whether configured providers can be used, whether running proxies serve, and whether what providers are made from
//! has changed. Each looks at the world by the clock and tells the shell, in memory, what has changed; none writes a Proxy.

pub mod inputs;
pub mod provider;
pub mod proxy;
