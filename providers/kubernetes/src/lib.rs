//! Egress proxies as Pods.
