"""What the README shows, works."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_python_of_the_readme_works(capsys):
    stream, compare = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    names = {}
    exec(stream, names)
    truth = names["planted_stream"](5_000, random_state=0).informative["view_0"]
    assert truth[names["selector"].view_ranking_["view_0"] <= 10].all()
    assert capsys.readouterr().out.startswith("[")
    exec(compare, names)
    nmi = {(method, p): value for method, p, value in eval(capsys.readouterr().out)}
    assert nmi["OMVFS", 100] > max(nmi["variance", 100], nmi["Laplacian", 100])


def test_links_of_the_readme_lead_somewhere():
    for target in re.findall(r"\]\((?!http)([^)]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target
