"""End-to-end tests start the whole application; a window among them is drawn offscreen."""

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"
