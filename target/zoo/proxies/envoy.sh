#!/bin/sh
# Envoy in front of a dependency, with a backup of a lower priority: PORT, DEPENDENCY_ADDR, BACKUP_ADDR; VENV holds its
# wheel; SCRATCH is a folder of its own. KIND is outlier, circuit_breakers or local_ratelimit.
set -eu
endpoint() {
  printf '{"endpoint": {"address": {"socket_address": {"address": "%s", "port_value": %s}}}}' "${1%:*}" "${1##*:}"
}
cluster='' limit='' # what KIND adds to the cluster, and which filter comes before the router
backup=''
case "$KIND" in
outlier)
  backup=", {\"priority\": 1, \"lb_endpoints\": [$(endpoint "$BACKUP_ADDR")]}"
  cluster='"outlier_detection": {"consecutive_5xx": 5, "interval": "0.5s", "base_ejection_time": "1s", "max_ejection_time": "1s", "max_ejection_percent": 100},
    "common_lb_config": {"healthy_panic_threshold": {"value": 0}, "update_merge_window": "0s"},'
  ;;
circuit_breakers)
  cluster='"circuit_breakers": {"thresholds": [{"max_requests": 2}]},'
  ;;
local_ratelimit)
  limit='{"name": "envoy.filters.http.local_ratelimit", "typed_config": {
    "@type": "type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit",
    "stat_prefix": "limit", "token_bucket": {"max_tokens": 5, "tokens_per_fill": 5, "fill_interval": "0.5s"},
    "filter_enabled": {"default_value": {"numerator": 100}}, "filter_enforced": {"default_value": {"numerator": 100}}}},'
  ;;
esac
cat >"$SCRATCH/envoy.json" <<CONF
{"static_resources": {
  "clusters": [{"name": "quotes", "type": "STATIC", "lb_policy": "ROUND_ROBIN", $cluster
    "load_assignment": {"cluster_name": "quotes", "endpoints": [{"lb_endpoints": [$(endpoint "$DEPENDENCY_ADDR")]}$backup]}}],
  "listeners": [{"address": {"socket_address": {"address": "127.0.0.1", "port_value": $PORT}}, "filter_chains": [{"filters": [
    {"name": "envoy.filters.network.http_connection_manager", "typed_config": {
      "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
      "stat_prefix": "all",
      "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [
        {"match": {"path": "/ready"}, "direct_response": {"status": 200}},
        {"match": {"prefix": "/"}, "route": {"cluster": "quotes", "timeout": "60s"}}]}]},
      "http_filters": [$limit {"name": "envoy.filters.http.router",
        "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}]}}]}]}]}}
CONF
exec "$VENV"/lib/python*/site-packages/envoy/_bin/envoy -c "$SCRATCH/envoy.json" --concurrency 1 --disable-hot-restart --log-level warning
