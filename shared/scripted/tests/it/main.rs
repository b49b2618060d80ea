//! The scripted model as its clients see it, over HTTP.

#[cfg(test)]
mod agent;
#[cfg(test)]
mod bench;
#[cfg(test)]
mod client;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod providers;
#[cfg(test)]
mod script;
#[cfg(test)]
mod streaming;
