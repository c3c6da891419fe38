"""`python -m sabot_definitions.generate`: writes all generated blocks of the current folder, the
top of a checkout."""

import sys
from pathlib import Path

from sabot_definitions.form import DefinitionError
from sabot_definitions.generate.blocks import BlockError
from sabot_definitions.generate.files import generated


def main() -> int:
    """Write the files that are not current, and say which."""
    try:
        texts = generated(Path())
    except (DefinitionError, BlockError) as error:
        print(error, file=sys.stderr)
        return 1
    for path, text in texts.items():
        file = Path(path)
        if file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            print(f"{path} is renewed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
