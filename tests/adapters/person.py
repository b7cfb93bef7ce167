"""Shared by the tests of adapters: a contract with a rule, and replies that are good, broken, and refused."""

from pydantic import BaseModel

from trueup import Contract


class Person(BaseModel):
    name: str
    age: int


CONTRACT = Contract(Person, rules=["age >= 0"])
ADA = Person(name="Ada", age=36)
GOOD = '{"name": "Ada", "age": 36}'
BROKEN = 'Sure! Here it is:\n```json\n{"name": "Ada", "age": "36",}\n```'
"""Lossless fixes: a fence, an extra comma, a number as text."""
REFUSED = '{"name": "Ada", "age": -5}'
"""Valid under the schema, but against the rule."""
MISSING = '{"name": "Ada"}'
