"""Word lists of the text check: which plain words are names, and which odd-looking ones are English."""

from __future__ import annotations

KNOWN_SYSTEMS = frozenset(
    {
        "activemq", "argocd", "aws", "azure", "cassandra", "clickhouse", "cloudflare", "cloudwatch", "consul",
        "coredns", "datadog", "dynamodb", "elasticsearch", "envoy", "etcd", "fluentd", "gcp", "github", "gitlab",
        "grafana", "haproxy", "istio", "jenkins", "kafka", "kubelet", "kubernetes", "linkerd", "loki", "mariadb",
        "memcached", "minio", "mongo", "mongodb", "mysql", "nats", "nginx", "opensearch", "pgbouncer", "postgres",
        "postgresql", "prometheus", "pulsar", "rabbitmq", "redis", "s3", "scylla", "snowflake", "sqs", "stripe",
        "terraform", "traefik", "vault", "zookeeper",
    }
)  # fmt: skip
"""Common systems whose names look like plain words. Closed; naming one takes evidence that names it."""

ENGLISH_COMPOUNDS = frozenset(
    {
        "a/b", "after-effect", "and/or", "i/o", "n/a", "auto-scaler", "auto-scaling", "back-off", "back-pressure", "built-in", "byte-level",
        "client-side", "cold-start", "cpu-bound", "cross-check", "dead-letter", "downstream", "end-to-end",
        "error-rate", "fail-over", "follow-up", "full-table", "hard-coded", "high-latency", "in-flight",
        "in-memory", "io-bound", "key-value", "knock-on", "lock-step", "long-running", "lower-bound", "low-level",
        "memory-bound", "multi-tenant", "non-zero", "on-call", "out-of-memory", "per-pod", "per-request",
        "pre-existing", "read-only", "read-write", "re-deploy", "re-run", "re-start", "re-started", "real-time",
        "roll-back", "roll-out", "rolled-back", "run-time", "self-inflicted", "server-side", "short-lived",
        "slow-down", "so-called", "start-up", "step-change", "thread-pool", "time-out", "time-outs", "up-stream",
        "up-to-date", "warm-up", "well-known", "write-ahead",
    }
)  # fmt: skip
"""Hyphenated words that are English, not the name of an object."""

NUMBER_WORDS = frozenset(
    {
        "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "twenty", "thirty",
        "forty", "fifty", "sixty", "ninety", "dozen", "dozens", "hundred", "hundreds", "thousand", "thousands",
        "million", "millions", "billion", "twice", "thrice", "double", "doubled", "doubles", "doubling", "triple",
        "tripled", "tripling", "quadruple", "quadrupled", "twofold", "threefold", "fivefold", "tenfold", "halved",
        "halves",
    }
)  # fmt: skip
"""Numbers in words. "one", "two", "first", "half" and "once" are too common in plain prose to be one."""

CAPITALISED = frozenset({"utc", "i", "the", "a", "an", "no", "this", "that", "it", "gmt"})
"""Words that may have a capital inside a sentence without being a name."""

OBJECT_LABELS = frozenset(
    {
        "app", "application", "cluster", "container", "cronjob", "daemonset", "database", "datname", "deployment",
        "environment", "host", "hostname", "ingress", "instance", "job", "namespace", "node", "persistentvolumeclaim",
        "pod", "queue", "release", "replicaset", "service", "statefulset", "topic", "workload",
    }
)  # fmt: skip
"""Labels whose values name an object of the world."""
