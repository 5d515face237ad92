"""Environments in containers.

availability      whether a run that requests a container gets one
container_builder the builder: locks and builds images with packages
images            the base image, by name or from a Dockerfile
install           packages into an image; conda packages, mounted into containers
container_engine  podman or docker
"""
