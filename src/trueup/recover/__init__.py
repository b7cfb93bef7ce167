"""Turns a text into candidate values, each with the fixes it took. It knows neither providers nor contracts."""
