#!/bin/sh
# nginx in front of a dependency, with a backup: PORT, DEPENDENCY_ADDR, BACKUP_ADDR; SCRATCH is a folder of its own.
set -eu
cat >"$SCRATCH/nginx.conf" <<CONF
daemon off;
master_process off;
pid $SCRATCH/pid;
events {}
http {
  access_log off;
  client_body_temp_path $SCRATCH/body;
  proxy_temp_path $SCRATCH/proxy;
  fastcgi_temp_path $SCRATCH/fastcgi;
  uwsgi_temp_path $SCRATCH/uwsgi;
  scgi_temp_path $SCRATCH/scgi;
  upstream quotes {
    server $DEPENDENCY_ADDR max_fails=3 fail_timeout=1s;
    server $BACKUP_ADDR backup;
  }
  server {
    listen 127.0.0.1:$PORT;
    location = /ready { return 200; }
    location / {
      proxy_pass http://quotes;
      proxy_next_upstream error timeout http_503;
    }
  }
}
CONF
PATH="$PATH:/usr/sbin" exec nginx -p "$SCRATCH" -e stderr -c "$SCRATCH/nginx.conf"
