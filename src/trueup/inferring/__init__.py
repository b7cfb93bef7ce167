"""A first contract, drafted from replies, types, API descriptions or stored traffic."""
