"""Tensors and operations as ggml makes them: shapes, views and the order of the graph, without any data.

Mirrors ggml.c of b11434 (``ggml_new_tensor``, ``ggml_view_*``, the result shapes of the operations and
``ggml_visit_parents_graph``, ggml.c:7245). Only what decides a buffer's size is kept: shape, bytes, what is a view of
what, and which device holds a tensor that exists before the graph.
"""

from __future__ import annotations

F32, F16, I32, I64 = 4, 2, 4, 8
"""Bytes of an element."""

Shape = tuple[int, int, int, int]

VIEWS = frozenset({"view"})
"""ggml_is_view_op: nodes without work of their own (ggml-backend.cpp:852)."""

IN_PLACE = frozenset({
    "add", "mul", "div", "sub", "scale", "unary", "rope", "rms_norm", "clamp", "soft_max", "add_id", "sqr", "sqrt",
    "fill",
})  # fmt: skip
"""ggml_op_can_inplace, ggml-alloc.c:21."""


class Tensor:
    """One tensor; mutable, because the scheduler and the allocator keep their state in it.

    ``home``: index of the device that holds it already (weights, caches), None for what the graph computes.
    ``root``: the tensor whose memory a view uses. ``is_pending``: has no memory
    yet and needs some. ``is_plain``: contiguous, so another tensor of the same shape has
    the same layout. ``scratch``: bytes that CUDA adds behind the result; ``keeps``: a product whose factors CUDA keeps
    until this tensor is done.
    """

    __slots__ = (
        "address", "backend", "copies", "element", "home", "is_allocated", "is_input", "is_output", "is_pending",
        "is_plain", "is_seen", "is_weight", "keeps", "n_bytes", "n_children", "n_views", "ne", "op", "place", "root",
        "scratch", "srcs",
    )  # fmt: skip

    def __init__(self, op: str, ne: Shape, element: int = F32, srcs: tuple[Tensor, ...] = ()) -> None:
        self.op = op
        self.ne = ne
        self.element = element
        self.srcs = list(srcs)
        self.n_bytes = ne[0] * ne[1] * ne[2] * ne[3] * element
        self.root: Tensor | None = None
        self.home: int | None = None
        self.is_plain = self.is_pending = True
        self.is_weight = self.is_input = self.is_output = self.is_seen = self.is_allocated = False
        self.backend = -1
        self.n_children = self.n_views = 0
        self.place = self.address = 0
        self.scratch = 0
        self.keeps: Tensor | None = None
        self.copies: dict[int, Tensor] | None = None


class Graph:
    """Nodes in the order in which the engine runs them, leaves in the order in which it met them."""

    def __init__(self) -> None:
        self.nodes: list[Tensor] = []
        self.leafs: list[Tensor] = []

    def expand(self, tensor: Tensor) -> None:
        """ggml_build_forward_expand: the tensor and everything it needs, depth first, sources from left to right."""
        if tensor.is_seen:
            return
        tensor.is_seen = True
        for src in tensor.srcs:
            if src.is_seen:
                continue
            if src.srcs:
                self.expand(src)
            else:  # weights, caches and inputs, half of all: without a call of their own
                src.is_seen = True
                (self.nodes if src.op else self.leafs).append(src)
        (self.nodes if tensor.op else self.leafs).append(tensor)


def shape(a: int, b: int = 1, c: int = 1, d: int = 1) -> Shape:
    """A shape with the trailing ones filled in."""
    return (a, b, c, d)


def leaf(ne: Shape, element: int = F32) -> Tensor:
    """A graph input: allocated first, on the host."""
    tensor = Tensor("", ne, element)
    tensor.is_input = True
    return tensor


def scratch_leaf(ne: Shape, element: int = F32) -> Tensor:
    """A tensor that no step makes and nobody fills: it has memory from the start, where its first user runs."""
    return Tensor("", ne, element)


def stored(ne: Shape, n_bytes: int, home: int, *, is_weight: bool) -> Tensor:
    """A weight or a cache that a device holds already."""
    tensor = Tensor("", ne)
    tensor.n_bytes, tensor.home, tensor.is_weight, tensor.is_pending = n_bytes, home, is_weight, False
    return tensor


def new(op: str, ne: Shape, *srcs: Tensor, element: int = F32) -> Tensor:
    """An operation with a result of its own."""
    return Tensor(op, ne, element, srcs)


def like(op: str, a: Tensor, *more: Tensor) -> Tensor:
    """An operation whose result has the shape of its first source."""
    return Tensor(op, a.ne, a.element, (a, *more))


def view(a: Tensor, ne: Shape, *, is_plain: bool = True, n_bytes: int | None = None, op: str = "view") -> Tensor:
    """A window on ``a``. ``n_bytes``: what a copy of it takes where rows lie apart (ggml_nbytes of the strides)."""
    tensor = Tensor(op, ne, a.element, (a,))
    tensor.root = a.root or a
    tensor.is_plain, tensor.is_pending = is_plain, False
    if n_bytes is not None:
        tensor.n_bytes = n_bytes
    return tensor


def window(a: Tensor, ne: Shape, row: int) -> Tensor:
    """Part of every row of ``a``, whose rows are ``row`` elements long: a copy spans them all but for the last's rest.

    The last dimension of ``ne`` above 1 counts the rows.
    """
    rows = next((n for n in reversed(ne) if n > 1), 1)
    inner = ne[0] * ne[1] * ne[2] * ne[3] // rows
    return view(a, ne, is_plain=False, n_bytes=((rows - 1) * row + inner) * a.element)


def written(target: Tensor, *srcs: Tensor, op: str = "write") -> Tensor:
    """set_rows, cpy and the like: the result is ``target``'s own memory."""
    tensor = Tensor(op, target.ne, target.element, srcs)
    tensor.root = target.root or target
    tensor.is_plain, tensor.n_bytes, tensor.is_pending = target.is_plain, target.n_bytes, False
    return tensor


def reshape(a: Tensor, x: int, y: int = 1, z: int = 1, w: int = 1) -> Tensor:
    """The same elements in another shape."""
    return view(a, (x, y, z, w))


def permute(a: Tensor, ne: Shape) -> Tensor:
    """The dimensions in another order; the layout stays only where a moved dimension is 1."""
    return view(a, ne, is_plain=a.is_plain and ne == a.ne and 1 in ne[1:3], n_bytes=a.n_bytes)


def mul_mat(w: Tensor, x: Tensor) -> Tensor:
    """ggml_mul_mat: [k, m] x [k, n, ...] -> [m, n, ...]."""
    return Tensor("mul_mat", (w.ne[1], *x.ne[1:]), F32, (w, x))


def mul_mat_id(w: Tensor, x: Tensor, ids: Tensor) -> Tensor:
    """ggml_mul_mat_id: the experts that ``ids`` chose, [m, used, tokens]."""
    return Tensor("mul_mat_id", (w.ne[1], ids.ne[0], x.ne[2], 1), F32, (w, x, ids))


def get_rows(a: Tensor, ids: Tensor) -> Tensor:
    """ggml_get_rows; quantised rows come out as F32."""
    return Tensor("get_rows", (a.ne[0], ids.ne[0], ids.ne[1], ids.ne[2]), F32, (a, ids))


def cont(a: Tensor, *ne: int) -> Tensor:
    """A copy with rows next to each other, in a new shape when one is given."""
    return Tensor("cont", shape(*ne) if ne else a.ne, a.element, (a,))


def concat(a: Tensor, b: Tensor) -> Tensor:
    """ggml_concat along the first dimension."""
    return Tensor("concat", (a.ne[0] + b.ne[0], *a.ne[1:]), a.element, (a, b))
