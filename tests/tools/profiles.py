"""A recorded run made by hand: marked steps, kernels of two programs, and samples of Python."""

from jxc.backend.targets import find_target
from jxc.events.recorded import CompileSpan, Recorded
from jxc.events.runs import HostSpan, OpRun, ProgramRun, StepSpan, Trace
from jxc.events.sampler import Sample
from jxc.source import SourceLine
from jxc.tools.profile.build import build

HLO = """HloModule jit_step, is_scheduled=true

FileNames
1 "FILE"
FunctionNames
1 "step"
FileLocations
1 {file_name_id=1 function_name_id=1 line=2 end_line=2 column=1 end_column=9}
2 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=1 end_column=9}
StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}

ENTRY %main (x: f32[64,64]) -> f32[64,64] {
  %x = f32[64,64]{1,0} parameter(0)
  %dot = f32[64,64]{1,0} dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, METADATA
  ROOT %negate = f32[64,64]{1,0} negate(%dot), metadata={op_name="jit(step)/neg" stack_frame_id=2}
}
"""
METADATA = 'metadata={op_name="jit(step)/encoder/dot_general" stack_frame_id=1}'
SOURCE = "def step(x):\n    y = x @ x\n    return -y\nwait()  # <&>\n"
MS = 1_000_000


def made(folder, *, steps=10, kernels=1, name="train.py", dot_ms=4, jitter=0):
    """A profile of `steps` steps of 10 ms: a product of `dot_ms`, a negation of 1 ms, the rest
    Python. The first step compiles for 2 ms.

    Args:
        folder: of the source file.
        kernels: how many kernels each of the two is divided into.
        jitter: by how many tenths of a millisecond products differ between neighbouring steps.
    """
    from jaxlib import _hlo

    path = folder / "train.py"
    path.write_text(SOURCE)
    module = _hlo.hlo_module_from_text(HLO.replace("FILE", str(path)).replace("METADATA", METADATA))
    trace = Trace(
        started=1000 * MS, modules={"jit_step(1)": module.as_serialized_hlo_module_proto()}
    )
    samples = []
    for step in range(steps):
        start = step * 10 * MS
        dot = int(dot_ms * MS) + (step % 3) * jitter * MS // 10
        trace.steps.append(StepSpan("train", step, start, start + 10 * MS))
        trace.host.append(HostSpan("dispatch", "PjitFunction(step)", start + MS, start + 2 * MS))
        begin = start + 2 * MS
        trace.runs.append(ProgramRun("cpu:0", "jit_step(1)", begin, begin + dot + MS))
        for op, first, length in (("dot", begin, dot), ("negate", begin + dot, MS)):
            each = length // kernels
            for n in range(kernels):
                span = first + n * each, first + (n + 1) * each
                trace.ops.append(OpRun("cpu:0", "jit_step(1)", op, *span))
        time = trace.started + start + 5 * MS
        line = SourceLine(str(path), 4, "<module>")
        samples.append(Sample(time, "Python", line, "", line))
    trace.events = len(trace.ops)
    recorded = Recorded(
        name=name,
        started=trace.started,
        ended=trace.started + steps * 10 * MS,
        trace=trace,
        samples=samples,
        compiling=[CompileSpan(trace.started, trace.started + MS)],
        called={"jit_step": SourceLine(str(path), 4, "<module>")},
        compiled=1,
    )
    return build(recorded, find_target("cpu").device)
