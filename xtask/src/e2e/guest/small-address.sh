#!/bin/busybox sh
# What udhcpc runs when it has heard of an address.
case $1 in bound | renew) /bin/busybox ip address replace "$ip/$mask" dev "$interface" ;; esac
