"""The host through time: what every part of the model does in one sample."""
