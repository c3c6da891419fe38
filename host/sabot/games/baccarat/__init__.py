"""The games of baccarat: wagers, scores, odds and settlement."""
