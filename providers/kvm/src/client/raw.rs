//! The few calls of libvirt's C library that `virt` lacks, swallows the errors of, or leaks memory in, and one of the kernel's
//! that the standard library lacks. All `unsafe` code of the provider is here, and nothing else.

#![allow(unsafe_code)]

use std::{
    ffi::{CStr, c_int},
    io,
    os::fd::{AsRawFd as _, BorrowedFd},
    ptr,
};

use libvirt_model::LibvirtError;
use virt::{connect::Connect, domain::Domain, stream::Stream};
use virt_sys as sys;

/// The error of the call that has just failed on this thread. It must be asked for before any handle is dropped: that
/// forgets it.
pub(super) fn last_error() -> LibvirtError {
    // SAFETY: the library keeps the error of each thread until the thread's next call, and nothing is called here.
    let error = unsafe { sys::virGetLastError().as_ref() };
    let Some(error) = error else {
        // A call that failed without saying why.
        return LibvirtError {
            code: 1,
            message: "libvirt did not say why".to_owned(),
            ..LibvirtError::default()
        };
    };
    LibvirtError {
        code: error.code,
        domain: error.domain,
        errno: error.int1,
        // SAFETY: the text is the error's own, and lives as long.
        message: unsafe { text(error.message) }.unwrap_or_default(),
    }
}

/// State and reason of a domain. `virt` answers with an unknown state where the call failed.
pub(super) fn state(domain: &Domain) -> Result<(i32, i32), LibvirtError> {
    let (mut state, mut reason): (c_int, c_int) = (0, 0);
    // SAFETY: the domain is alive for as long as it is borrowed, and both numbers are written before the call returns.
    let done = unsafe { sys::virDomainGetState(domain.as_ptr(), &mut state, &mut reason, 0) };
    if done < 0 { Err(last_error()) } else { Ok((state, reason)) }
}

/// The addresses that a source knows, each with that of its interface. `virt` gives none of the memory back that the library hands over here, which a
/// provider that asks for years cannot afford.
pub(super) fn addresses(domain: &Domain, source: u32) -> Result<Vec<(Option<String>, String)>, LibvirtError> {
    let mut interfaces: *mut sys::virDomainInterfacePtr = ptr::null_mut();
    // SAFETY: the domain is alive; on success the library has put an array there that is ours from then on.
    let count = unsafe { sys::virDomainInterfaceAddresses(domain.as_ptr(), &mut interfaces, source, 0) };
    if count < 0 {
        return Err(last_error());
    }
    let mut seen = Vec::new();
    for at in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the array has `count` interfaces, each with `naddrs` addresses; each interface is freed once, after
        // what is in it was copied.
        unsafe {
            let interface = *interfaces.add(at);
            let of = &*interface;
            let mac = text(of.hwaddr);
            for address in 0..of.naddrs as usize {
                let address = text((*of.addrs.add(address)).addr);
                seen.extend(address.map(|address| (mac.clone(), address)));
            }
            sys::virDomainInterfaceFree(interface);
        }
    }
    // SAFETY: the library has allocated the array with malloc, and everything in it is freed.
    unsafe { libc::free(interfaces.cast()) };
    Ok(seen)
}

/// The host's memory, by the library's names for its parts, in KiB.
pub(super) fn memory(connect: &Connect) -> Result<Vec<(String, u64)>, LibvirtError> {
    let all_cells: c_int = sys::VIR_NODE_MEMORY_STATS_ALL_CELLS;
    let mut count: c_int = 0;
    // SAFETY: without room for them the library only says how many there are.
    let asked =
        unsafe { sys::virNodeGetMemoryStats(connect.as_ptr(), all_cells, ptr::null_mut(), &mut count, 0) };
    if asked < 0 {
        return Err(last_error());
    }
    let room = usize::try_from(count).unwrap_or(0);
    // SAFETY: the structure is plain numbers, for which zeros are a value.
    let mut parts: Vec<sys::virNodeMemoryStats> = (0..room).map(|_| unsafe { std::mem::zeroed() }).collect();
    // SAFETY: there is room for as many as `count` says.
    let asked =
        unsafe { sys::virNodeGetMemoryStats(connect.as_ptr(), all_cells, parts.as_mut_ptr(), &mut count, 0) };
    if asked < 0 {
        return Err(last_error());
    }
    parts.truncate(usize::try_from(count).unwrap_or(0));
    // SAFETY: the library has ended each name.
    Ok(parts.iter().filter_map(|part| Some((unsafe { text(part.field.as_ptr()) }?, part.value))).collect())
}

/// Ends a transfer, and says how it ended. `virt` frees the stream first, and with that the errno.
pub(super) fn finish(stream: &Stream) -> Result<(), LibvirtError> {
    // SAFETY: the stream is alive for as long as it is borrowed.
    let done = unsafe { sys::virStreamFinish(stream.as_ptr()) };
    if done < 0 { Err(last_error()) } else { Ok(()) }
}

/// Moves up to so many bytes from a socket into a pipe or from a pipe into a socket, without waiting; zero at the end.
pub(super) fn splice(from: BorrowedFd<'_>, to: BorrowedFd<'_>, at_most: usize) -> io::Result<usize> {
    let (no_offset, flags) = (ptr::null_mut(), libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK);
    // SAFETY: both are open for as long as they are borrowed, and neither has an offset.
    let moved =
        unsafe { libc::splice(from.as_raw_fd(), no_offset, to.as_raw_fd(), no_offset, at_most, flags) };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}

/// Lets a pipe hold so many bytes.
pub(super) fn widen(pipe: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    // SAFETY: it is open for as long as it is borrowed, and nothing but a number is passed.
    let done = unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETPIPE_SZ, bytes) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A text of the library's, if there is one.
///
/// # Safety
/// It is null, or ends in a zero byte.
unsafe fn text(text: *const std::ffi::c_char) -> Option<String> {
    // SAFETY: as promised above.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
