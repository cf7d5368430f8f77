"""The models that are on this computer: found, named, judged. Only ever read."""
