#!/bin/sh
# HAProxy in front of a dependency, with a backup: PORT, DEPENDENCY_ADDR, BACKUP_ADDR; HEALTH_ADDR answers its active
# checks; SCRATCH is a folder of its own.
set -eu
cat >"$SCRATCH/haproxy.cfg" <<CONF
global
  nbthread 1
  maxconn 500
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend all
  bind 127.0.0.1:$PORT
  http-request return status 200 if { path /ready }
  default_backend quotes
backend quotes
  option httpchk GET /health
  server dependency $DEPENDENCY_ADDR check addr ${HEALTH_ADDR%:*} port ${HEALTH_ADDR##*:} inter 500ms rise 2 observe layer7 error-limit 3 on-error mark-down
  server backup $BACKUP_ADDR backup
CONF
PATH="$PATH:/usr/sbin" exec haproxy -db -f "$SCRATCH/haproxy.cfg"
