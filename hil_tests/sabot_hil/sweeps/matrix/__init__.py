"""What `versions.py` and `fleet.py` share: versions of Sabot, shoes that run them, judges."""
