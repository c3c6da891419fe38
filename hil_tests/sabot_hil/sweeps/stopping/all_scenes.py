"""Every scene: importing the modules enters theirs."""

from sabot_hil.sweeps.stopping import of_centre as of_centre
from sabot_hil.sweeps.stopping import of_line as of_line
from sabot_hil.sweeps.stopping import of_programs as of_programs
from sabot_hil.sweeps.stopping import of_screens as of_screens
from sabot_hil.sweeps.stopping import of_shoe as of_shoe
from sabot_hil.sweeps.stopping.scenes import _scenes as SCENES

__all__ = ["SCENES"]
