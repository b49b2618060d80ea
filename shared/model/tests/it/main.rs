//! The client against real HTTP: a server that says byte for byte what a test tells it to.

#[cfg(test)]
mod bedrock;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod dirt;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod rejected_tools;
#[cfg(test)]
mod server;
#[cfg(test)]
mod timeouts;
#[cfg(test)]
mod world;
