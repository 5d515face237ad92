"""The process that holds a model, in the user's interpreter: standard library, Python 3.8, and the user's frameworks.

__main__       reads the configuration, loads, serves
limits         CPUs and memory of this process
server         the loop over a connection to the gateway
tunnel         opens that connection on another machine
messages       requests, responses, and the interface of a scorer
entry_script   a scorer that calls the user's init() and run(data); raw_http for @rawhttp
data_collector  rows that a script keeps: ModelDataCollector
model_scorer   a scorer for a model without code: joins requests to batches
payloads       the protocols: Azure's JSON, TensorFlow Serving, Open Inference Protocol v2
signature      completes a model's signature from its samples
tensors        arrays, checked against the model's signature
loaders/       one module per framework
onnx_conversion  converts a model to ONNX and compares both; a run starts it
"""
