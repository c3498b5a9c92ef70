#!/bin/sh
# What mmdebstrap runs before it is done with the guest's root folder, which is $1. The cloud-init config is $2.
set -e
root=$1
# The drivers that a virtio machine needs before its root file system is there, and no others: it boots sooner.
sed -i 's/^MODULES=.*/MODULES=list/; s/^COMPRESS=.*/COMPRESS=zstd/' "$root/etc/initramfs-tools/initramfs.conf"
printf '%s\n' virtio_pci virtio_blk virtio_scsi sd_mod ext4 >>"$root/etc/initramfs-tools/modules"
chroot "$root" update-initramfs -u -k all

echo 'LABEL=rootfs / ext4 defaults,noatime 0 0' >"$root/etc/fstab"
echo localhost >"$root/etc/hostname"
echo '127.0.0.1 localhost' >"$root/etc/hosts"
cp "$2" "$root/etc/cloud/cloud.cfg.d/90_egress.cfg"
chroot "$root" systemctl enable systemd-networkd.service qemu-guest-agent.service
# cloud-init starts it, once it has written its configuration.
chroot "$root" systemctl disable squid.service

# Under emulation each of these costs a second or more, and a guest that lives for minutes needs none of them.
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
  fstrim.timer logrotate.timer systemd-timesyncd.service systemd-hwdb-update.service systemd-binfmt.service \
  systemd-networkd-wait-online.service systemd-pstore.service getty@tty1.service serial-getty@ttyS0.service \
  apparmor.service systemd-journal-flush.service systemd-logind.service systemd-update-utmp.service \
  modprobe@drm.service modprobe@fuse.service modprobe@configfs.service dev-hugepages.mount dev-mqueue.mount \
  sys-kernel-debug.mount sys-kernel-tracing.mount; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done

# Nothing that tells one guest from another or one build from another, and no way to packages: there is no network.
: >"$root/etc/machine-id"
: >"$root/etc/apt/sources.list"
rm -rf "$root"/etc/apt/sources.list.d/* "$root"/var/lib/systemd/random-seed "$root"/etc/ssh/ssh_host_* \
  "$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/usr/share/locale/* "$root"/var/cache/* \
  "$root"/var/lib/apt/lists/* "$root"/var/log/*
mkdir -p "$root/var/cache/squid" "$root/var/log/squid"
chroot "$root" chown proxy:proxy /var/log/squid
