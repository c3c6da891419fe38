"""The pages, a module each. A module has `ROUTES`, which `sabot.web.app` lists."""
