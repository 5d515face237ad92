"""Environments in containers.

    availability      whether a run that requests a container gets one
    container_builder the builder: locks and builds images with packages
    images            the base image, by name or from a Dockerfile
    install           packages into an image
    conda_prefix      conda packages, mounted into containers
    container_engine  podman or docker

tests/e2e/test_containers.py and test_container_registry.py cover the package with a real engine;
tests/unit/environments/containers/test_availability.py covers it with a small fake one.
"""
