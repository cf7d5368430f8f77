"""Lanewise: puts every tensor of a MoE model in the right lane."""
