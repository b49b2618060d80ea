//! Packets of bytes and descriptors between this process and the zygote.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use tokio::io::Interest;
use tokio::net::UnixDatagram;

/// Maximum bytes of a received packet: a line about a job.
const MAX_PACKET: usize = 64 * 1024;
/// Maximum number of descriptors per packet, in either direction.
const MAX_DESCRIPTORS: usize = 8;

/// An end of a connected pair of packet sockets.
pub(crate) struct PacketSocket(UnixDatagram);

/// A received packet.
pub(crate) struct Packet {
    pub(crate) bytes: Vec<u8>,
    pub(crate) descriptors: Vec<OwnedFd>,
}

impl PacketSocket {
    /// Returns a socket of this process, and the blocking other end for a child process.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC;
        // Unlike datagram sockets, sockets of this type report the end of the other side.
        let (own, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        let own = std::os::unix::net::UnixDatagram::from(own);
        own.set_nonblocking(true)?;
        Ok((Self(UnixDatagram::from_std(own)?), other))
    }

    /// Sends a packet; the receiver receives copies of the descriptors.
    pub(crate) async fn send(
        &self,
        bytes: &[u8],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let send = || {
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            if !descriptors.is_empty()
                && !control.push(SendAncillaryMessage::ScmRights(descriptors))
            {
                return Err(io::Error::other("a packet has too many descriptors"));
            }
            sendmsg(&self.0, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
            Ok(())
        };
        self.0.async_io(Interest::WRITABLE, send).await
    }

    /// Receives the next packet; `None` once the other end is closed.
    pub(crate) async fn receive(&self) -> io::Result<Option<Packet>> {
        let receive = || {
            let mut bytes = vec![0; MAX_PACKET];
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut parts = [IoSliceMut::new(&mut bytes)];
            let flags = RecvFlags::CMSG_CLOEXEC;
            let message_info = recvmsg(&self.0, &mut parts, &mut control, flags)?;
            let mut descriptors = Vec::new();
            for message in control.drain() {
                if let RecvAncillaryMessage::ScmRights(rights) = message {
                    descriptors.extend(rights);
                }
            }
            bytes.truncate(message_info.bytes);
            Ok((message_info.bytes > 0).then_some(Packet { bytes, descriptors }))
        };
        self.0.async_io(Interest::READABLE, receive).await
    }
}
