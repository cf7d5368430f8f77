"""The engine's compute graph, its scheduler and its allocator, mirrored for one estimate of the compute buffers."""
