"""What one run is made of: the machine, outputs, variants, what is prepared for several runs.

May import, of its package: checkpoint, data, device, forecast, host, load, messages, report, walk
"""
