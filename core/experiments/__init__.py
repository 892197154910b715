"""What takes minutes and is run by hand: the OpenAPI paper's experiments, this program's speed and how it scales."""
