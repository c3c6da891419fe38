"""What Prometheus reads of Sabot: figures of a log, of what sends it on, and of its feeds."""
