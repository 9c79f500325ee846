"""The graphs of `jxc explore`: which ops they show, and where they are drawn."""

import json

from jxc.pages.stages import StageText
from jxc.tools.explore.graph import MAX_NODES, graph_of
from jxc.tools.explore.layout import lay_out

MODULE = """\
func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.sine %arg0 : tensor<8xf32>
  %1 = stablehlo.cosine %arg0 : tensor<8xf32>
  %2 = stablehlo.add %0, %1 : tensor<8xf32>
  %3:2 = "stablehlo.other"(%2) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<2xi32>)
  return %3#0 : tensor<8xf32>
}
"""


def stage_of(text, kind="stablehlo"):
    lines = tuple(text.splitlines())
    return StageText("module", kind, lines, (1,) * len(lines))


def test_graph_has_selected_ops_and_what_they_read():
    graph = graph_of(stage_of(MODULE), {3, 4}, {1: "jit(f)/layer/sin"})
    shown = [(node.op, node.value, node.outside) for node in graph.nodes]
    assert shown == [
        ("cosine", "%1", False),
        ("add", "%2", False),
        ("", "%arg0", True),
        ("sine", "%0", True),
    ]
    assert graph.edges == [(2, 0), (3, 1), (0, 1)]


def test_graph_of_hlo_leaves_out_called_computations():
    text = (
        "ENTRY %main (p: f32[8]) -> f32[8] {\n"
        "  %p = f32[8]{0} parameter(0)\n"
        "  ROOT %f = (f32[8]{0}, f32[]) fusion(%p, %p), kind=kLoop, calls=%fused\n"
        "}"
    )
    graph = graph_of(stage_of(text, "hlo"), {3}, {})
    assert [node.op for node in graph.nodes] == ["fusion", "parameter"]
    assert graph.edges == [(1, 0)]


def test_graph_is_bounded():
    lines = [f"  %{i + 1} = stablehlo.sine %{i} : tensor<f32>" for i in range(MAX_NODES + 50)]
    graph = graph_of(stage_of("\n".join(lines)), range(1, 1000), {})
    assert (len(graph.nodes), graph.omitted) == (MAX_NODES, 50)


def test_graph_is_written_in_the_format_of_model_explorer():
    graph = graph_of(stage_of(MODULE), {2, 4}, {1: "jit(f)/layer/sin"})
    made = graph.for_model_explorer("wave")
    (only,) = made["graphs"]
    assert made["label"] == only["id"] == "wave"
    ids = [node["id"] for node in only["nodes"]]
    assert len(set(ids)) == len(ids)
    assert only["nodes"][0]["namespace"] == "jit(f)/layer"
    edges = [edge for node in only["nodes"] for edge in node["incomingEdges"]]
    assert edges and all(edge["sourceNodeId"] in ids for edge in edges)
    assert json.loads(json.dumps(made)) == made


def test_layout_places_nodes_without_overlap_below_what_they_read():
    edges = [(0, 2), (1, 2), (2, 3), (0, 3), (3, 4), (1, 4), (4, 0)]  # the last one closes a cycle
    widths = [80.0, 120.0, 60.0, 200.0, 90.0, 50.0]
    layout = lay_out(widths, edges)
    for start, end in edges[:-1]:
        assert layout.centers[start][1] < layout.centers[end][1]
    for i, (x, y) in enumerate(layout.centers):
        assert x >= widths[i] / 2 and x + widths[i] / 2 <= layout.width and y < layout.height
        for j, (other_x, other_y) in enumerate(layout.centers[:i]):
            assert y != other_y or abs(x - other_x) >= (widths[i] + widths[j]) / 2
    assert [path[0] for path in layout.paths] == [layout.centers[start] for start, _ in edges]


def test_layout_of_no_nodes_is_empty():
    assert lay_out([], []).centers == []
