"""A settled hand as people and other programs read it: lines, a slip, a PHH file; the rule card."""
