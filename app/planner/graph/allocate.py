"""ggml's graph allocator: which tensors share memory, and how large each backend's buffer becomes.

Mirrors ggml-alloc.c of b11434: ``ggml_gallocr_alloc_graph_impl`` (:704), in-place reuse (:619), best fit among the free
blocks (:190). One chunk per buffer: only Vulkan splits beyond its largest block, and the sum stays the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.planner.graph.ggml import IN_PLACE, Tensor

_ENDLESS = 1 << 62


class _Arena:
    """Free blocks of one buffer, by address; the last one is endless (ggml_dyn_tallocr)."""

    __slots__ = ("alignment", "size", "sizes", "starts")

    def __init__(self, alignment: int) -> None:
        self.alignment = alignment
        self.starts = [0]
        self.sizes = [_ENDLESS]
        self.size = 0

    def take(self, n_bytes: int) -> int:
        """The smallest block that fits, the last of equals; the endless one when no other does."""
        n_bytes = -(-n_bytes // self.alignment) * self.alignment
        sizes = self.sizes
        best = len(sizes) - 1
        best_size = _ENDLESS
        for i, size in enumerate(sizes):  # the endless one is the last, and no better than itself
            if n_bytes <= size <= best_size:
                best, best_size = i, size
        address = self.starts[best]
        if sizes[best] == n_bytes:
            del self.starts[best], sizes[best]
        else:
            self.starts[best] += n_bytes
            sizes[best] -= n_bytes
        self.size = max(self.size, address + n_bytes)
        return address

    def give(self, address: int, n_bytes: int) -> None:
        """Return a block: the first neighbour found takes it in, and its own neighbour with it (ggml-alloc.c:313)."""
        n_bytes = -(-n_bytes // self.alignment) * self.alignment
        starts, sizes = self.starts, self.sizes
        end = address + n_bytes
        for i, start in enumerate(starts):
            if start + sizes[i] == address:
                sizes[i] += n_bytes
                self._join(i)
                return
            if end == start:
                starts[i] = address
                sizes[i] += n_bytes
                if i:
                    self._join(i - 1)
                return
        at = 0
        while starts[at] < address:
            at += 1
        starts.insert(at, address)
        sizes.insert(at, n_bytes)

    def _join(self, i: int) -> None:
        """Blocks i and i + 1 become one where they touch."""
        if i + 1 < len(self.starts) and self.starts[i] + self.sizes[i] == self.starts[i + 1]:
            self.sizes[i] += self.sizes[i + 1]
            del self.starts[i + 1], self.sizes[i + 1]


class Allocator:
    """Places the tensors of one scheduled graph; ``sizes`` afterwards are the buffers' bytes, one per backend."""

    def __init__(self, alignments: Sequence[int], has_scratch: Sequence[bool]) -> None:
        self._has_scratch = tuple(has_scratch)
        self._arenas = [_Arena(alignment) for alignment in alignments]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of each buffer."""
        return tuple(arena.size for arena in self._arenas)

    def run(self, nodes: Sequence[tuple[Tensor, int]], leafs: Sequence[Tensor]) -> None:
        """``nodes``: (tensor, backend) in running order, input copies included."""
        for tensor in leafs:
            if tensor.is_pending:
                self._place(tensor, tensor.backend)
        self._count(nodes)
        place, release = self._place, self._release
        for node, backend in nodes:
            srcs = node.srcs
            for parent in srcs:
                if parent.is_pending:
                    place(parent, backend)
            if node.is_pending:
                place(node, backend)
            for parent in srcs:
                parent.n_children = left = parent.n_children - 1
                # a weight or a cache has no memory here to give back
                if not left and not parent.n_views and (parent.root is not None or parent.is_allocated):
                    release(parent)

    def _count(self, nodes: Sequence[tuple[Tensor, int]]) -> None:
        """Children and views; graph inputs are placed before anything could take their memory."""
        for node, backend in nodes:
            if node.root is not None and node.op:
                node.root.n_views += 1
            if node.is_input and node.is_pending:
                self._place(node, backend)
            for src in node.srcs:
                src.n_children += 1
                if src.is_input and src.is_pending:
                    self._place(src, backend)

    def _place(self, tensor: Tensor, backend: int) -> None:
        tensor.is_allocated, tensor.is_pending = True, False
        if tensor.op in IN_PLACE and self._reuse(tensor):
            return
        tensor.place = backend
        if tensor.scratch and self._has_scratch[backend]:
            tensor.n_bytes += tensor.scratch
        tensor.address = self._arenas[backend].take(tensor.n_bytes)

    def _reuse(self, tensor: Tensor) -> bool:
        """Take over the memory of a source that nobody else needs (ggml-alloc.c:619-672; views never give theirs)."""
        for parent in tensor.srcs:
            if not parent.is_allocated or parent.is_output or parent.n_children != 1 or parent.n_views:
                continue
            if parent.is_plain and parent.ne == tensor.ne and parent.element == tensor.element:
                self._hand_over(parent, tensor)
                return True
        return False

    def _hand_over(self, owner: Tensor, tensor: Tensor) -> None:
        owner.is_allocated = False
        tensor.place, tensor.address = owner.place, owner.address
        arena = self._arenas[owner.place]
        mine = -(-tensor.n_bytes // arena.alignment) * arena.alignment
        theirs = -(-owner.n_bytes // arena.alignment) * arena.alignment
        if theirs > mine:
            arena.give(owner.address + mine, theirs - mine)

    def _release(self, parent: Tensor) -> None:
        root = parent.root
        if root is None:
            if parent.is_allocated:
                self._free(parent)
            return
        root.n_views -= 1
        if not root.n_views and not root.n_children and root.is_allocated:
            self._free(root)

    def _free(self, tensor: Tensor) -> None:
        if not tensor.is_output:
            self._arenas[tensor.place].give(tensor.address, tensor.n_bytes)
            tensor.is_allocated = False
