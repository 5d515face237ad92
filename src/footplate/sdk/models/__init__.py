"""Registered models.

model                   Model: finding, registering, deploying
registered_model        its base: identity, files, changes; models on this machine
registration            the body of a registration request; the columns of samples
resource_configuration  ResourceConfiguration
deployed_service        the base of services: attributes, keys, requests, logs
webservice              Webservice: waiting, calling, updating, deleting
webservice_kinds        AciWebservice, AksWebservice, LocalWebservice
aks_endpoint            AksEndpoint: versions with names, beside each other
deploying               the request that deploys: models, code, environment
deployment_configuration    the options of Azure's three targets
inference_config        InferenceConfig
packaging               Model.package: a folder with a Dockerfile, or an image
dockerfile              that Dockerfile, and what its build needs of this machine
profiling               Model.profile: latencies, and recommended resources
onnx_conversion         model.to_onnx: the run that converts, and the registration
onnx_job                the job of that run
image                   ContainerImage, the older way to name a script
"""
