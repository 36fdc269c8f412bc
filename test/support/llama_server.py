"""llama.cpp's own HTTP server with one model on 127.0.0.1, until its standard input ends.

llama_server.py MODEL_FILE NAME PORT CONTEXT_TOKENS THREADS
"""

import os
import sys

import xllamacpp

path, name, port, context, threads = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = path
params.model_alias = {name}
params.hostnames = ["127.0.0.1"]
params.port = int(port)
params.n_ctx = int(context)
# The whole context is for one request at a time.
params.n_parallel = 1
params.cpuparams.n_threads = int(threads)
params.cpuparams_batch.n_threads = int(threads)
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
# A request that is under way would hold the end.
os._exit(0)
