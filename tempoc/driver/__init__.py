"""One compilation from source text to program: which passes run, which stage needs which.

In: loaded sources and options. Out: every stage of one compilation, computed at most once.

May import: base, diagnostics, autodiff, codegen, files, footprint, frontend, memory, offload, ops,
passes, pipeline, poly, program, runtime, schedule, sdg, symbolic
"""
