//! How images come to a host: whole or not at all, once for everybody, and in nobody's way.

use std::{sync::Arc, time::Duration};

use libvirt_rpc::Procedure;
use provider_api::{FailureClass, LeftBehind};

use super::{
    bench::{Bench, POOL, fails, request, until},
    images::{Serves, bytes},
};

const SQUID: &str = "/squid.qcow2";
const SOON: Duration = Duration::from_secs(5);

/// The copies of images on the first host, and which of them somebody has found whole.
fn copies(bench: &Bench) -> Vec<String> {
    let volumes = bench.host().volumes().into_iter().map(|volume| volume.name);
    let mut copies: Vec<_> = volumes.filter(|name| name.starts_with("proxy-image-")).collect();
    copies.sort();
    copies
}

fn is_one_whole_copy(copies: &[String]) -> bool {
    matches!(copies, [copy, marker] if *marker == format!("{copy}.whole"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_need_not_say_how_long_an_image_is() {
    let bench = Bench::new().await;
    bench.images.serve(SQUID, Serves::WithoutLength);
    bench.provider().create(&request("uid-1")).await.unwrap();
    assert!(is_one_whole_copy(&copies(&bench)), "{:?}", copies(&bench));
    let copy = copies(&bench).remove(0);
    assert_eq!(bench.volume(|name| name == copy).content, bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_refuses_for_good_is_permanent() {
    for (serves, class) in [
        (Serves::Status(404), FailureClass::Permanent),
        (Serves::Status(403), FailureClass::Permanent),
        (Serves::Status(503), FailureClass::Transient),
        (Serves::Status(429), FailureClass::Transient),
    ] {
        let bench = Bench::new().await;
        bench.images.serve(SQUID, serves.clone());
        let provider = bench.provider();
        let error = fails(SOON, provider.create(&request("uid-1"))).await;
        assert_eq!(error.class(), class, "{serves:?}: {error}");
        assert_eq!(copies(&bench), [""; 0], "{serves:?}");
        bench.images.serve(SQUID, Serves::Whole);
        provider.create(&request("uid-1")).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_bytes_than_were_promised_are_permanent_and_not_kept() {
    let bench = Bench::new().await;
    bench.images.serve(SQUID, Serves::OtherBytes);
    let error = fails(SOON, bench.provider().create(&request("uid-1"))).await;
    assert_eq!(error.class(), FailureClass::Permanent, "{error}");
    assert_eq!(error.code(), Some("ChecksumMismatch"));
    assert_eq!(copies(&bench), [""; 0]);
}

/// Without a checksum the layout is all there is to look at.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_image_is_permanent_and_not_kept() {
    let bench = Bench::new().await;
    bench.images.serve("/other.qcow2", Serves::OtherBytes);
    let mut request = request("uid-1");
    request.placement.image = Some("other".to_owned());
    let error = fails(SOON, bench.provider().create(&request)).await;
    assert_eq!((error.class(), error.code()), (FailureClass::Permanent, Some("ImageFormat")), "{error}");
    assert_eq!(copies(&bench), [""; 0]);
}

/// A process begins to bring an image, and dies. What it leaves is called so.
async fn begun_by_another_process(bench: &Bench) -> String {
    let (before, uploads) = (copies(bench), bench.daemons[0].calls_of(Procedure::StorageVolUpload));
    bench.images.serve(SQUID, Serves::Stalls);
    let provider = bench.provider();
    let create = tokio::spawn(async move { provider.create(&request("uid-1")).await });
    until("the transfer", || bench.daemons[0].calls_of(Procedure::StorageVolUpload) > uploads).await;
    create.abort();
    let _ = create.await;
    let [left] = copies(bench)
        .into_iter()
        .filter(|copy| !before.contains(copy))
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    left
}

/// A transfer that was cut off leaves a copy without a marker. It is as long as a whole one may be, and is never used.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_without_its_marker_is_never_used() {
    let bench = Bench::new().await;
    let left = begun_by_another_process(&bench).await;
    bench.images.serve(SQUID, Serves::Whole);
    bench.provider().create(&request("uid-1")).await.unwrap();
    let backing = bench.volume(|name| name.ends_with("-disk")).backing.unwrap();
    assert!(!backing.ends_with(&left), "the disk stands on {backing}");
    assert_eq!(copies(&bench).len(), 3, "the copy of before may be another process's, which goes on with it");
}

/// A process that dies in the middle of a transfer leaves the same; what it has begun is cleared away by whoever comes when
/// nobody can be at it any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_is_made_good_and_what_it_left_is_cleared_away_in_time() {
    let bench = Bench::new().await;
    // As if it were two hours ago.
    bench.set_behind(7_200);
    let left = begun_by_another_process(&bench).await;
    bench.set_behind(0);
    let young = begun_by_another_process(&bench).await;
    assert_eq!(copies(&bench), std::slice::from_ref(&young), "what was given up is gone: {left}");

    bench.images.serve(SQUID, Serves::Whole);
    bench.provider().create(&request("uid-1")).await.unwrap();
    assert!(copies(&bench).contains(&young), "somebody may be at it");
}

/// Each try of a server that breaks off would leave as much as came, in the pool that guests write to.
#[tokio::test(flavor = "multi_thread")]
async fn tries_that_fail_heap_nothing_up() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    for serves in [Serves::Half, Serves::OtherBytes, Serves::Half] {
        bench.images.serve(SQUID, serves);
        fails(SOON, provider.create(&request("uid-1"))).await;
        assert_eq!(copies(&bench), [""; 0]);
    }
    // One whose caller went away is cleared away by the next that comes, at once: nobody else can be at it.
    bench.images.serve(SQUID, Serves::Stalls);
    let uploads = bench.daemons[0].calls_of(Procedure::StorageVolUpload);
    let create = {
        let provider = Arc::clone(&provider);
        tokio::spawn(async move { provider.create(&request("uid-1")).await })
    };
    until("the transfer", || bench.daemons[0].calls_of(Procedure::StorageVolUpload) > uploads).await;
    create.abort();
    let _ = create.await;
    assert_eq!(copies(&bench).len(), 1);
    bench.images.serve(SQUID, Serves::Whole);
    provider.create(&request("uid-1")).await.unwrap();
    assert!(is_one_whole_copy(&copies(&bench)), "{:?}", copies(&bench));
}

/// A copy that lost its marker is as one that was given up, and disks may stand on it. What is only called as copies are
/// is somebody else's.
#[tokio::test(flavor = "multi_thread")]
async fn what_disks_stand_on_is_not_cleared_away() {
    let bench = Bench::new().await;
    bench.set_behind(7_200);
    bench.running(&*bench.provider(), "uid-1").await;
    let [copy, marker] = copies(&bench).try_into().unwrap();
    bench.host().remove_volume(POOL, &marker).unwrap();
    let backup = format!("{copy}-backup");
    bench.host().put_volume(POOL, &backup, bytes()).unwrap();
    bench.set_behind(0);
    bench.running(&*bench.provider(), "uid-2").await;
    assert!(copies(&bench).contains(&copy), "the first disk stands on it");
    assert!(copies(&bench).contains(&backup), "it is not ours");
}

/// How long an image is says its server, and may say anything.
#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_said_to_be_endless_does_not_fit() {
    for length in [u64::MAX, u64::MAX - (1 << 20), u64::MAX >> 1] {
        let bench = Bench::new().await;
        bench.images.serve(SQUID, Serves::Says(length));
        let error = fails(SOON, bench.provider().create(&request("uid-1"))).await;
        assert_eq!((error.class(), error.code()), (FailureClass::QuotaExceeded, Some("PoolFull")), "{error}");
        assert_eq!(copies(&bench), [""; 0]);
    }
}

/// A server that does not say how long an image is may never end; what guests write would no longer fit beside it.
#[tokio::test(flavor = "multi_thread")]
async fn an_image_without_an_end_leaves_the_room_for_disks() {
    let mut bench = Bench::new().await;
    bench.block()["images"]["squid"].as_object_mut().unwrap().remove("sha256");
    bench.host().set_available(POOL, (10 << 30) + (48 << 20)).unwrap();
    bench.images.serve(SQUID, Serves::Endless);
    let error = fails(SOON * 4, bench.provider().create(&request("uid-1"))).await;
    assert_eq!((error.class(), error.code()), (FailureClass::QuotaExceeded, Some("PoolFull")), "{error}");
    assert!(bench.images.sent() < 64 << 20, "{} bytes have gone out", bench.images.sent());
    assert_eq!(copies(&bench), [""; 0]);
}

/// An image may name any file of the host's as what it stands on, or as where its bytes are: a guest would read it.
#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_needs_a_file_of_the_hosts_is_permanent_and_not_kept() {
    let mut standing = bytes();
    standing[8..16].copy_from_slice(&112_u64.to_be_bytes());
    standing[16..20].copy_from_slice(&11_u32.to_be_bytes());
    standing[112..123].copy_from_slice(b"/etc/shadow");
    let mut elsewhere = bytes();
    elsewhere[79] = 4;
    for image in [standing, elsewhere] {
        let bench = Bench::new().await;
        bench.images.serve("/other.qcow2", Serves::Bytes(image));
        let mut request = request("uid-1");
        request.placement.image = Some("other".to_owned());
        let error = fails(SOON, bench.provider().create(&request)).await;
        assert_eq!(
            (error.class(), error.code()),
            (FailureClass::Permanent, Some("ImageForbidden")),
            "{error}"
        );
        assert_eq!(copies(&bench), [""; 0]);
        assert_eq!((bench.host().domains().len(), bench.parts().len()), (0, 0));
    }
}

/// A disk is as large as its image, however large the entry says.
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_may_grow_beyond_the_pool_is_not_made() {
    let bench = Bench::new().await;
    let mut image = bytes();
    image[24..32].copy_from_slice(&(1_u64 << 50).to_be_bytes());
    bench.images.serve("/other.qcow2", Serves::Bytes(image));
    let mut request = request("uid-1");
    request.placement.image = Some("other".to_owned());
    let error = fails(SOON, bench.provider().create(&request)).await;
    assert_eq!((error.class(), error.code()), (FailureClass::QuotaExceeded, Some("PoolFull")), "{error}");
    assert_eq!((bench.host().domains().len(), bench.parts().len()), (0, 0));
}

/// The same bytes are one copy, whatever two entries say of them; each is held to its own word.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_there_is_looked_at_too() {
    let mut bench = Bench::new().await;
    bench.running(&*bench.provider(), "uid-1").await;
    bench.block()["images"]["squid"]["format"] = "raw".into();
    let before = bench.parts();
    let error = fails(SOON, bench.provider().create(&request("uid-2"))).await;
    assert_eq!((error.class(), error.code()), (FailureClass::Permanent, Some("ImageFormat")), "{error}");
    assert_eq!((bench.parts(), copies(&bench).len()), (before, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn however_many_wait_an_image_comes_once() {
    let bench = Bench::of(&["rack-1", "rack-2"], |_| ()).await;
    let provider = bench.provider();
    let creates = (0..6).map(|number| {
        let mut request = request(&format!("uid-{number}"));
        request.placement.zone = Some(if number < 3 { "rack-1" } else { "rack-2" }.to_owned());
        let provider = Arc::clone(&provider);
        async move { provider.create(&request).await }
    });
    for created in futures::future::join_all(creates).await {
        created.unwrap();
    }
    assert_eq!(bench.images.asked(SQUID), 2, "once for each host");
    assert!(is_one_whole_copy(&copies(&bench)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_does_not_come_is_in_no_other_images_way() {
    let mut bench = Bench::new().await;
    bench.entry["budgets"]["create"] = "4s".into();
    let provider = bench.provider();
    bench.images.serve("/other.qcow2", Serves::Stalls);
    let stalled: Vec<_> = (0..6)
        .map(|number| {
            let mut request = request(&format!("uid-stalled-{number}"));
            request.placement.image = Some("other".to_owned());
            let provider = Arc::clone(&provider);
            tokio::spawn(async move { provider.create(&request).await })
        })
        .collect();
    until("the transfer", || bench.daemons[0].calls_of(Procedure::StorageVolUpload) == 1).await;
    let began = std::time::Instant::now();
    let (_, id) = bench.running(&*provider, "uid-1").await;
    provider.get(&id).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(3), "it took {:?}", began.elapsed());
    assert_eq!(bench.images.asked("/other.qcow2"), 1, "the others wait for that one");
    for create in stalled {
        let error = create.await.unwrap().unwrap_err();
        assert_eq!(error.class(), FailureClass::Transient, "{error}");
    }
}

/// An image is never in this process's memory as a whole: where the host takes no more, the server is not asked for more.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_slow_holds_the_server_up() {
    const IMAGE: usize = 64 << 20;
    const AT_MOST: usize = 8 << 20;
    let mut bench = Bench::new().await;
    bench.block()["images"]["squid"].as_object_mut().unwrap().remove("sha256");
    bench.images.serve(SQUID, Serves::Padded(IMAGE));
    bench.daemons[0].hang_in_next(&[Procedure::StorageVolUpload]);
    let provider = bench.provider();
    let create = {
        let provider = Arc::clone(&provider);
        tokio::spawn(async move { provider.create(&request("uid-1")).await })
    };
    until("the hang", || bench.daemons[0].hanging() == 1).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(bench.images.sent() < AT_MOST, "{} bytes have gone out", bench.images.sent());
    bench.daemons[0].let_go();
    create.await.unwrap().unwrap();
    assert!(bench.images.sent() > IMAGE);
}

/// Where a server sends on to is not the admin's word.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_sends_on_to_no_internal_address() {
    let bench = Bench::new().await;
    let provider = bench.provider();
    bench.images.serve(SQUID, Serves::SendsOn("http://169.254.169.254/latest".to_owned()));
    let error = fails(SOON, provider.create(&request("uid-1"))).await;
    assert_eq!(
        (error.class(), error.left_behind()),
        (FailureClass::Permanent, LeftBehind::Unknown),
        "{error}"
    );
    assert_eq!(bench.images.asked("/latest"), 0);
    bench.images.serve(SQUID, Serves::SendsOn("http://mirror.example/squid-6.qcow2".to_owned()));
    provider.create(&request("uid-1")).await.unwrap();
    assert_eq!(bench.images.asked("/squid-6.qcow2"), 1);
}
