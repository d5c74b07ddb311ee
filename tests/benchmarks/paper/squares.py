"""An experiment that takes no time: the squares of some numbers."""

from paper import Claim, Experiment, Task
from paper.figures import line_against, pyplot

calls = []


def squared(place, number):
    """The task of the experiment below."""
    calls.append(number)
    if place.quick and number == 3:
        raise KeyboardInterrupt
    return [{"square": number**2, "half": number / 2}]


class Squares(Experiment):
    """Squares of some numbers."""

    name = "squares"
    title = "Squares"

    def tasks(self, place):
        return [Task(squared, {"number": number}) for number in (1, 2, 3, 4)]

    def section(self, rows):
        return f"The sum is {sum(row['square'] for row in rows)}."

    def figures(self, rows):
        figure, axes = pyplot().subplots()
        line_against("number", axes, rows, "square", "a", 0)
        return {"all": figure}

    def claims(self, rows):
        return [Claim("Squares grow.", f"{rows[-1]['square']}", "reproduced", "It is known.")]
