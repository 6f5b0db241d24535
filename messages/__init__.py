"""What the parts say to each other: values, one closed union per direction, and the wire form.

Import the module you need (``outsourcerer.messages.facts``, ...). Nothing is re-exported here, so
that the front end can use :mod:`~outsourcerer.messages.vocabulary` without loading pydantic.
"""
