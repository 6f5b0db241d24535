"""Advice on where work goes: pure functions over what is known of lanes, models and limits."""
