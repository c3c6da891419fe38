"""The commands of the screens: who may see them, and where they are shown."""
