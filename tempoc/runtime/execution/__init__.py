"""The execution of a run: machine, outputs, choice of a variant, specialization for bounds.

May import, of its package: checkpoint, data, device, forecast, host, load, messages, report,
rewriting, rewriting.lengths, walk
"""
