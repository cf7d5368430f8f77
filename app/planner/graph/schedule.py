"""ggml's scheduler: which backend runs each node, where the graph is cut, and what is copied at each cut.

Mirrors ``ggml_backend_sched_split_graph`` (ggml-backend.cpp:1206) of b11434. Backends are numbered as the engine
numbers them: devices in their order, the CPU last. Every device is taken to support every operation.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.planner.graph.ggml import VIEWS, Graph, Tensor

_NO_WEIGHT_SAY = frozenset({"rope", "flash_attn"})
"""Operations whose small weights do not choose the backend (ggml-backend.cpp:1096-1101)."""
_OFFLOAD_MIN_BATCH = 32
"""ggml-cuda.cu:5741, ggml-vulkan.cpp:15997; GGML_OP_OFFLOAD_MIN_BATCH would change it."""


class Scheduler:
    """Cuts one graph. ``offloads``: per backend, does it take over big operations on host weights?

    ``fuses``: per backend, does it add up weighted experts in one step, for which their factors must still be there?
    ``n_copies``: 4 with pipeline parallelism, else 1 (GGML_SCHED_MAX_COPIES).
    """

    def __init__(
        self, n_backends: int, offloads: Sequence[bool], fuses: Sequence[bool] = (), n_copies: int = 1
    ) -> None:
        self._fuses = tuple(fuses) or (False,) * n_backends
        self._cpu = n_backends - 1
        self._offloads = tuple(offloads)
        self._n_copies = n_copies
        self.order: list[tuple[Tensor, int]] = []
        self.leafs: list[Tensor] = []
        self._split_inputs: list[tuple[Tensor, int]] = []

    def run(self, graph: Graph) -> None:
        """Afterwards ``order`` are the nodes with their backends, copies included, and ``leafs`` what comes first."""
        if not self._cpu:  # one backend: nothing to choose, nothing to copy
            for tensor in (*graph.leafs, *graph.nodes):
                tensor.backend = 0
            self.order, self.leafs = [(node, 0) for node in graph.nodes], graph.leafs
            return
        for tensor in graph.leafs:
            if tensor.backend < 0:
                home = tensor.home
                tensor.backend = self._known(tensor) if home is None else home
        for tensor in graph.nodes:
            if tensor.backend < 0:
                tensor.backend = self._known(tensor)
        work = [node for node in graph.nodes if node.op not in VIEWS]
        self._expand(work, gpu_only=True)
        self._expand(work[::-1], gpu_only=True)
        self._expand(work, gpu_only=False)
        self._expand(work[::-1], gpu_only=False)
        self._inherit(graph.nodes)
        self._split(graph.nodes)
        self.leafs = self._input_copies(graph.leafs) + graph.leafs

    def _known(self, tensor: Tensor) -> int:
        """Backend from existing memory or a weight (ggml_backend_sched_backend_id_from_cur, :1047); -1: not yet."""
        owner = tensor.root or tensor
        if owner.home is not None:
            return owner.home
        if tensor.is_input:
            return self._cpu
        if tensor.op in _NO_WEIGHT_SAY:
            return -1
        for src in tensor.srcs:
            if src.is_weight and src.home is not None:
                if src.home == self._cpu and self._cpu and _batch(tensor) >= _OFFLOAD_MIN_BATCH:
                    for backend in range(self._cpu):
                        if self._offloads[backend]:
                            return backend
                return src.home
        return -1

    def _expand(self, work: Sequence[Tensor], gpu_only: bool) -> None:
        """Neighbours follow (pass 2, :1243-1322): first devices spread, then what is left follows whatever is next."""
        current = -1
        for node in work:
            if node.backend >= 0:
                current = -1 if gpu_only and node.backend == self._cpu else node.backend
            elif current >= 0:
                node.backend = current

    def _inherit(self, nodes: Sequence[Tensor]) -> None:
        """Views live with what they view, other sources with their first user (pass 4, :1377)."""
        for node in nodes:
            if node.root is not None and node.backend < 0:
                node.backend = node.root.backend
            for src in node.srcs:
                if src.backend < 0:
                    src.backend = src.root.backend if src.root is not None else node.backend
            if node.backend < 0:
                node.backend = 0

    def _split(self, nodes: Sequence[Tensor]) -> None:
        """Cut where the backend changes; what a split reads from elsewhere is copied at its start (pass 5, :1407)."""
        pending: list[tuple[Tensor, int]] = []
        inputs: list[tuple[Tensor, Tensor]] = []
        current = next((node.backend for node in nodes if node.op not in VIEWS), self._cpu)
        for node in nodes:
            if node.op not in VIEWS:
                backend = node.backend
                if backend != current or (inputs and _reads_weights_elsewhere(node, current)):
                    self._flush(pending, inputs, current)
                    pending, inputs, current = [], [], backend
                for i, src in enumerate(node.srcs):
                    if src.backend != current:
                        node.srcs[i] = self._copy(src, current, inputs)
            pending.append((node, node.backend))
        self._flush(pending, inputs, current)

    def _copy(self, src: Tensor, backend: int, inputs: list[tuple[Tensor, Tensor]]) -> Tensor:
        """The source's copy on this backend; made once in the whole graph (:1476)."""
        if src.copies is None:
            src.copies = {}
        copy = src.copies.get(backend)
        if copy is None:
            copy = duplicate(src)
            copy.backend = backend
            src.copies[backend] = copy
            inputs.append((src, copy))
            if self._n_copies > 1:
                copy.is_input = copy.is_output = True
            self._split_inputs.append((copy, backend))
        return copy

    def _flush(self, pending: list[tuple[Tensor, int]], inputs: list[tuple[Tensor, Tensor]], backend: int) -> None:
        """A finished split: its input copies come first, each after a view that keeps the original alive (:1593)."""
        for src, copy in inputs:
            keep = Tensor("", src.ne, src.element, (src,))
            keep.root, keep.is_pending = src.root or src, False
            self.order.append((keep, src.backend))
            self.order.append((copy, backend))
        for node, home in pending:
            self.order.append((node, home))
            if node.keeps is not None and self._fuses[home]:
                self.order.append((_keeper(node.keeps), home))

    def _input_copies(self, leafs: Sequence[Tensor]) -> list[Tensor]:
        """With pipeline parallelism every input exists ``n_copies`` times, for good (pass 6, :1510-1545, :1646)."""
        if self._n_copies == 1:
            return []
        made: list[Tensor] = []
        for tensor in [t for t in leafs if t.is_input] + [copy for copy, _ in self._split_inputs]:
            tensor.is_output = True
            made.append(tensor)
            for _ in range(self._n_copies - 1):
                twin = duplicate(tensor)
                twin.backend, twin.is_input, twin.is_output = tensor.backend, True, True
                made.append(twin)
        return made


def _reads_weights_elsewhere(node: Tensor, backend: int) -> bool:
    for src in node.srcs:  # noqa: SIM110 - a generator costs twice as much, and this is asked of every node
        if src.is_weight and src.backend != backend:
            return True
    return False


def _keeper(product: Tensor) -> Tensor:
    """A step that does nothing but need the product's factors (``add_alloc_dep``, ggml-cuda.cu:4646)."""
    first = product.srcs[0]
    keep = Tensor("", first.ne, first.element, tuple(product.srcs))
    keep.root, keep.is_pending = first.root or first, False
    return keep


def duplicate(tensor: Tensor) -> Tensor:
    """A tensor of the same layout with memory of its own (ggml_dup_tensor_layout)."""
    copy = Tensor("", tensor.ne, tensor.element)
    copy.n_bytes, copy.is_plain = tensor.n_bytes, tensor.is_plain
    return copy


def _batch(tensor: Tensor) -> int:
    """Rows of work that decide over offloading (get_op_batch_size, ggml-cuda.cu:5739)."""
    if tensor.op == "get_rows":
        return 0
    if tensor.op == "mul_mat":
        return tensor.ne[1]
    if tensor.op in ("mul_mat_id", "rope"):
        return tensor.ne[2]
    return tensor.ne[1] * tensor.ne[2] * tensor.ne[3]
